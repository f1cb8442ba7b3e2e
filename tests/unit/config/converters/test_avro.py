"""The Avro converters of connector files."""

from __future__ import annotations

import pytest

from floe.config.check import rows_of
from floe.config.converters.base import API, ConverterSpec
from floe.config.converters.kinds import AVRO
from floe.config.converters.with_registry import api_of, registry_of
from floe.config.exceptions import ConfigError
from floe.config.properties import Properties
from floe.config.secrets.mask import Mask
from tests.support.registry.connector_keys import NONE, VALUE, Make, Problems, with_apicurios, with_confluents

CONFLUENT = with_confluents("io.confluent.connect.avro.AvroConverter")
APICURIO = with_apicurios("io.apicurio.registry.utils.converter.AvroConverter")


@pytest.mark.parametrize(("keys", "api"), [(CONFLUENT, "confluent"), (APICURIO, "apicurio")])
def test_avro_class_is_taken_without_a_warning(connector: Make, keys: dict[str, object], api: str) -> None:
    found = connector(keys, NONE)
    assert found.warnings == ()
    assert (found.value_converter.kind, found.value_converter.role) == (AVRO, "value")
    assert api_of(found.value_converter) == api


@pytest.mark.parametrize("keys", [CONFLUENT, APICURIO])
def test_avro_registry_of_the_job_is_that_of_the_file(connector: Make, keys: dict[str, object]) -> None:
    more = {"request.header.X-Tenant": "a", "apicurio.registry.request.headers.X-Tenant": "a"}
    spec = connector({**keys, **{VALUE + key: value for key, value in more.items()}}, NONE).value_converter
    found = registry_of(spec)
    assert found.addresses[0].url.startswith("http://registry:80")
    assert found.headers == (("X-Tenant", "a"),)
    assert found.prefix == "value.converter."


def test_avro_options_of_effect_reach_the_job(connector: Make) -> None:
    more = {"enhanced.avro.schema.support": "true", "connect.meta.data": "false", "flatten.singleton.unions": "false"}
    found = connector({**CONFLUENT, **{VALUE + key: value for key, value in more.items()}}, NONE)
    assert found.warnings == ()
    assert {key: found.value_converter.options[key] for key in more} == more


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("schemas.cache.config", "1,000 schemas"),
        ("discard.type.doc.default", "documentation"),
        ("scrub.invalid.names", "writing"),
        ("allow.optional.map.keys", "writing"),
        ("avro.codec", "writing"),
        ("auto.register.schemas", "producers"),
        ("use.latest.version", "the schema that it was written with"),
        ("specific.avro.reader", "Java"),
        ("no.such.option", "no option of io.confluent.connect.avro.AvroConverter"),
    ],
)
def test_avro_options_without_effect_are_named(connector: Make, option: str, why: str) -> None:
    found = connector({**CONFLUENT, VALUE + option: "true"}, NONE)
    (warning,) = found.warnings
    assert warning.startswith(f"value.converter.{option} has no effect: ")
    assert why in warning
    assert option not in found.value_converter.options


@pytest.mark.parametrize(
    ("keys", "over", "said"),
    [
        (CONFLUENT, {"generalized.sum.type.support": "true"}, "set it to false"),
        (CONFLUENT, {"schema.registry.url": ""}, "schema.registry.url is not given"),
        (CONFLUENT, {"enhanced.avro.schema.support": "perhaps"}, "enhanced.avro.schema.support"),
        (CONFLUENT, {"value.schema.id.deserializer": "x.ConfigSchemaIdDeserializer"}, "PrefixSchemaIdDeserializer"),
        (APICURIO, {"apicurio.registry.url": "registry"}, "is no address"),
        (APICURIO, {"apicurio.registry.avro.encoding": "JSON"}, "BINARY"),
        (APICURIO, {"apicurio.registry.id-handler": "my.Own"}, "Legacy4ByteIdHandler"),
    ],
)
def test_avro_option_that_floe_cannot_follow_is_refused(
    problems: Problems, keys: dict[str, object], over: dict[str, str], said: str
) -> None:
    (problem,) = problems({**keys, **{VALUE + key: value for key, value in over.items()}}, NONE)
    assert said in problem
    assert "value.converter." in problem


@pytest.mark.parametrize("name", ["Avro", "AvroConverter"])
def test_avro_simple_name_of_two_classes_is_refused(problems: Problems, name: str) -> None:
    (problem,) = problems({"value.converter": name})
    assert "io.confluent.connect.avro.AvroConverter or io.apicurio" in problem


@pytest.mark.parametrize(
    ("name", "registry"),
    [
        ("com.amazonaws.services.schemaregistry.kafkaconnect.AWSKafkaAvroConverter", "AWS Glue's registry"),
        ("com.microsoft.azure.schemaregistry.kafka.connect.avro.AvroConverter", "Azure's registry"),
    ],
)
def test_converter_of_another_registry_is_refused_by_name(problems: Problems, name: str, registry: str) -> None:
    (problem,) = problems({"value.converter": name})
    assert problem.startswith(f"value.converter {name!r} needs {registry}")
    assert "Confluent's API" in problem


SECRETS = [
    (CONFLUENT, {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "me:quite-secret"}),
    (CONFLUENT, {"schema.registry.url": "http://me:quite-secret@registry:8081"}),
    (CONFLUENT, {"bearer.auth.token": "quite-secret"}),
    (CONFLUENT, {"request.header.X-Key": "quite-secret"}),
    (CONFLUENT, {"schema.registry.ssl.keystore.key": "-----BEGIN PRIVATE KEY-----\\nquite-secret\\n-----END"}),
    (APICURIO, {"apicurio.auth.username": "me", "apicurio.auth.password": "quite-secret"}),
    (APICURIO, {"apicurio.registry.request.headers.X-Key": "quite-secret"}),
]


@pytest.mark.parametrize(("keys", "secret"), SECRETS)
def test_avro_secrets_are_shown_nowhere(connector: Make, keys: dict[str, object], secret: dict[str, str]) -> None:
    found = connector({**keys, **{VALUE + key: value for key, value in secret.items()}}, NONE)
    spec = found.value_converter
    assert any("quite-secret" in text for text in spec.options.values())
    registry = registry_of(spec)
    assert any("quite-secret" in text for text in registry.secrets().values())
    shown = [
        repr(found),
        repr(spec),
        repr(registry),
        str(found.warnings),
        repr(found.frozen()),
        repr(list(rows_of(found, ()))),
    ]
    assert not [text for text in shown if "quite-secret" in text]
    for learned in (found.properties, spec.options, registry.secrets()):
        assert "quite-secret" not in Mask.of(learned).hide("refused: quite-secret")


def test_avro_reference_that_was_wrong_fails_the_job() -> None:
    spec = ConverterSpec(AVRO, Properties({API: "confluent", "schema.registry.url": "nowhere"}))
    with pytest.raises(ConfigError, match="is no address"):
        registry_of(spec)
