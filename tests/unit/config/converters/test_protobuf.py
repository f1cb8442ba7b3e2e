"""The Protobuf converters of connector files."""

from __future__ import annotations

import pytest

from floe.config.converters.kinds import PROTOBUF
from floe.config.converters.protobuf import DEFAULTS
from floe.config.converters.with_registry import api_of, registry_of
from tests.support.registry.connector_keys import NONE, VALUE, Make, Problems, with_apicurios, with_confluents

CONFLUENT = with_confluents("io.confluent.connect.protobuf.ProtobufConverter")
APICURIO = with_apicurios("io.apicurio.registry.utils.converter.ProtobufConverter", "/apis/registry/v3")


@pytest.mark.parametrize(("keys", "api"), [(CONFLUENT, "confluent"), (APICURIO, "apicurio")])
def test_protobuf_class_is_taken_without_a_warning(connector: Make, keys: dict[str, object], api: str) -> None:
    found = connector(keys, NONE)
    assert found.warnings == ()
    assert (found.value_converter.kind, found.value_converter.role) == (PROTOBUF, "value")
    assert api_of(found.value_converter) == api
    assert registry_of(found.value_converter).addresses[0].url.startswith("http://registry:80")


def test_protobuf_options_of_effect_reach_the_job(connector: Make) -> None:
    more = {name: str(not default).lower() for name, default in DEFAULTS.items()}
    found = connector({**CONFLUENT, **{VALUE + key: value for key, value in more.items()}}, NONE)
    assert found.warnings == ()
    assert {key: found.value_converter.options[key] for key in more} == more


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("schemas.cache.config", "1,000 schemas"),
        ("scrub.invalid.names", "writing"),
        ("auto.register.schemas", "producers"),
        ("specific.protobuf.value.type", "Java"),
        ("use.latest.version", "the schema that it was written with"),
        ("no.such.option", "no option of io.confluent.connect.protobuf.ProtobufConverter"),
    ],
)
def test_protobuf_options_without_effect_are_named(connector: Make, option: str, why: str) -> None:
    found = connector({**CONFLUENT, VALUE + option: "true"}, NONE)
    (warning,) = found.warnings
    assert warning.startswith(f"value.converter.{option} has no effect: ")
    assert why in warning


@pytest.mark.parametrize(
    ("keys", "over", "said"),
    [
        (CONFLUENT, {"generalized.sum.type.support": "true"}, "set it to false"),
        (CONFLUENT, {"generate.struct.for.nulls": "true"}, "set it to false"),
        (CONFLUENT, {"schema.registry.url": ""}, "schema.registry.url is not given"),
        (CONFLUENT, {"flatten.unions": "perhaps"}, "flatten.unions"),
        (CONFLUENT, {"value.schema.id.deserializer": "x.HeaderSchemaIdDeserializer"}, "PrefixSchemaIdDeserializer"),
    ],
)
def test_protobuf_option_that_floe_cannot_follow_is_refused(
    problems: Problems, keys: dict[str, object], over: dict[str, str], said: str
) -> None:
    (problem,) = problems({**keys, **{VALUE + key: value for key, value in over.items()}}, NONE)
    assert said in problem


@pytest.mark.parametrize("name", ["Protobuf", "ProtobufConverter"])
def test_protobuf_simple_name_of_two_classes_is_refused(problems: Problems, name: str) -> None:
    (problem,) = problems({"value.converter": name})
    assert "io.confluent.connect.protobuf.ProtobufConverter or io.apicurio" in problem
