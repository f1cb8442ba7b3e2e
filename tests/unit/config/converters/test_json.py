"""The options of JsonConverter."""

import pytest

from floe.config.converters.base import ConverterSpec
from floe.config.converters.kinds import ENVELOPE, JSON
from floe.config.properties import Properties

PREFIX = "value.converter."
SCHEMAS = f"{PREFIX}schemas.enable"
CACHE, FILL = f"{PREFIX}schemas.cache.size", f"{PREFIX}replace.null.with.default"
FORMAT, CONTENT = f"{PREFIX}decimal.format", f"{PREFIX}schema.content"


def test_schemas_are_enabled_by_default_as_in_connect(connector):
    for parsed in (connector(without=(SCHEMAS,)), connector({SCHEMAS: True})):
        assert parsed.value_converter == ConverterSpec(ENVELOPE)
        (warning,) = parsed.warnings
        assert warning.startswith(
            f"{FILL} is not given, and true by default, as in Kafka Connect: a null that was sent"
        )
    assert connector({SCHEMAS: "False"}).value_converter == ConverterSpec(JSON)


def test_options_of_envelopes_travel_as_they_are_written(connector):
    content = '{"type": "int8"}'
    parsed = connector({SCHEMAS: True, FILL: "FALSE", CACHE: 7, CONTENT: content})
    names = ("replace.null.with.default", "schemas.cache.size", "schema.content")
    options = Properties(dict(zip(names, ("FALSE", "7", content), strict=True)))
    assert (parsed.value_converter, parsed.warnings) == (ConverterSpec(ENVELOPE, options), ())


@pytest.mark.parametrize("given", ["BASE64", "base64", "Numeric"])
def test_format_of_decimals_has_no_effect(connector, given):
    (warning,) = connector({SCHEMAS: True, FILL: True, FORMAT: given}).warnings
    assert warning == f"{FORMAT} has no effect: it says how decimals are written, and both ways are read"


def test_options_of_schemas_have_no_effect_without_them(connector):
    parsed = connector({FILL: "false", CACHE: "10", CONTENT: "{}"})
    assert parsed.value_converter == ConverterSpec(JSON)
    assert [warning.partition(" has no effect")[0] for warning in parsed.warnings] == [FILL, CACHE, CONTENT]
    assert all(f"{SCHEMAS} is false" in warning for warning in parsed.warnings)


@pytest.mark.parametrize("schemas", ["true", "false"])
def test_wrong_options_are_refused_by_name(problems, schemas):
    found = problems({SCHEMAS: schemas, FILL: "no", CACHE: "many", FORMAT: "hex", CONTENT: "["})
    assert [problem for problem in found if FILL in problem and "true or false" in problem]
    assert [problem for problem in found if CACHE in problem and "Not a number" in problem]
    assert f"{FORMAT} 'hex': it is none of BASE64, NUMERIC" in found
    assert f"{CONTENT} '[': it is not the JSON of a schema" in found
    assert len(found) == 4
