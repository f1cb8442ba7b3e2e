"""The JSON Schema converter of connector files."""

from __future__ import annotations

import pytest

from floe.config.converters.json_schema import FLATTEN_SINGLETONS, OPTIONAL
from floe.config.converters.kinds import JSON_SCHEMA
from floe.config.converters.with_registry import registry_of
from tests.support.registry.connector_keys import NONE, VALUE, Make, Problems, with_confluents

CLASS = "io.confluent.connect.json.JsonSchemaConverter"
KEYS = with_confluents(CLASS)


@pytest.mark.parametrize("name", [CLASS, "JsonSchemaConverter", "JsonSchema"])
def test_json_schema_class_is_taken_by_its_names(connector: Make, name: str) -> None:
    found = connector(
        {**KEYS, "value.converter": name, VALUE + OPTIONAL: "true", VALUE + FLATTEN_SINGLETONS: "true"}, NONE
    )
    assert found.warnings == ()
    assert (found.value_converter.kind, found.value_converter.options[OPTIONAL]) == (JSON_SCHEMA, "true")
    assert found.value_converter.options[FLATTEN_SINGLETONS] == "true"
    assert registry_of(found.value_converter).addresses[0].url == "http://registry:8081"


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("decimal.format", "both forms"),
        ("ignore.modern.dialects", "draft 7"),
        ("object.additional.properties", "writing"),
        ("schemas.cache.size", "1,000 schemas"),
        ("use.latest.version", "the schema that it was written with"),
        ("json.value.type", "Java"),
        ("auto.register.schemas", "producers"),
        ("flatten.unions", f"no option of {CLASS}"),
    ],
)
def test_json_schema_options_without_effect_are_named(connector: Make, option: str, why: str) -> None:
    (warning,) = connector({**KEYS, VALUE + option: "true"}, NONE).warnings
    assert warning.startswith(f"value.converter.{option} has no effect: ")
    assert why in warning


@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("generalized.sum.type.support", "true", "set it to false"),
        ("json.fail.invalid.schema", "true", "have producers check"),
        (OPTIONAL, "perhaps", OPTIONAL),
        ("schema.registry.url", "", "schema.registry.url is not given"),
        ("value.schema.id.deserializer", "x.ConfigSchemaIdDeserializer", "PrefixSchemaIdDeserializer"),
    ],
)
def test_json_schema_option_floe_cannot_follow_is_refused(
    problems: Problems, option: str, text: str, said: str
) -> None:
    (problem,) = problems({**KEYS, VALUE + option: text}, NONE)
    assert said in problem
    assert "value.converter." in problem
