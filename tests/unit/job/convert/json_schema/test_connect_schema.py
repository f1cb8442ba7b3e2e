"""What Connect makes of JSON Schemas: the rules of ``JsonSchemaData``, over what its library sees in a schema."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from floe_job.connect import logical
from floe_job.connect.schema import ConnectSchema, Kind, array, map_of, struct
from floe_job.convert.json_schema.connect_schema import ENUM, MAX_FIELDS, UNION, JsonSchemaOptions, connect_schema
from floe_job.convert.json_schema.nodes import MAX_DEPTH
from floe_job.exceptions import UnusableSchema
from tests.support.job.formats.json_schema_orders import DECIMAL, registered

STRING, LONG, DOUBLE = ConnectSchema(Kind.STRING), ConnectSchema(Kind.INT64), ConnectSchema(Kind.FLOAT64)
TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
OPTIONS = JsonSchemaOptions()


def convert(schema: Any, options: JsonSchemaOptions = OPTIONS, *references: tuple[str, Any]) -> ConnectSchema:
    return connect_schema(registered(schema, *references), options)


def refused(schema: Any) -> str:
    with pytest.raises(UnusableSchema) as error:
        convert(schema)
    return str(error.value)


def optional(schema: ConnectSchema) -> ConnectSchema:
    return ConnectSchema(schema.kind, True, schema.name, fields=schema.fields, key=schema.key, element=schema.element)


def union(*branches: ConnectSchema, may_be_null: bool = False) -> ConnectSchema:
    fields = {f"{UNION}.field.{place}": optional(one) for place, one in enumerate(branches)}
    return struct(fields, name=UNION, optional=may_be_null)


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "boolean"}, ConnectSchema(Kind.BOOLEAN)),
        (WHOLE, LONG),
        ({"type": "number"}, DOUBLE),
        (TEXT, STRING),
        ({"type": "integer", "connect.type": "int8"}, ConnectSchema(Kind.INT8)),
        ({"type": "number", "connect.type": "float32"}, ConnectSchema(Kind.FLOAT32)),
        ({"type": "string", "connect.type": "bytes", "title": "B"}, ConnectSchema(Kind.BYTES, name="B")),
        ({"type": "integer", "title": logical.DATE}, ConnectSchema(Kind.INT32, name=logical.DATE)),
        ({"type": "array", "items": TEXT}, array(STRING)),
        ({"type": "object", "connect.type": "map", "additionalProperties": WHOLE}, map_of(STRING, LONG)),
        ({"type": "array", "connect.type": "map", "items": of(key=WHOLE, value=TEXT)}, map_of(LONG, STRING)),
        (of(a=TEXT), struct({"a": STRING})),
        ({"properties": {"a": TEXT}}, struct({"a": STRING})),
        ({"type": ["null", "integer"], "connect.type": "int8", "title": "T"}, optional(LONG)),
        ({"type": ["object", "null"], "properties": {"a": TEXT}}, optional(struct({"a": STRING}))),
        ({"anyOf": [TEXT, {"type": "null"}], "default": None}, optional(STRING)),
        ({"oneOf": [{"type": "null"}, {"type": "integer", "title": "T"}]}, ConnectSchema(Kind.INT64, True, "T")),
        ({"oneOf": [TEXT, WHOLE]}, union(STRING, LONG)),
        ({"anyOf": [TEXT, {"type": "null"}, WHOLE]}, union(STRING, LONG, may_be_null=True)),
        ({"type": ["string", "integer"]}, union(STRING, LONG)),
        ({"oneOf": [TEXT]}, union(STRING)),
        ({"type": "string", "const": "x"}, STRING),
        ({"type": "integer", "enum": [1, 2]}, LONG),
        ({"type": ["string", "null"], "enum": ["a", None]}, optional(STRING)),
        ({"type": "integer", "format": "int32", "connect.type": "int32"}, LONG),
        ({"type": "string", "minimum": 4}, STRING),
        ({"type": "boolean", "not": {"const": True}}, ConnectSchema(Kind.BOOLEAN)),
        ({"allOf": [TEXT, {"maxLength": 3}]}, STRING),
        ({"allOf": [of(a=TEXT), {"$ref": "#/x"}], "properties": {"c": WHOLE}, "x": of(b=WHOLE)}, ["a", "b", "c"]),
        ({**of(a=TEXT), "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, struct({"a": STRING})),
        ({**of(a=TEXT), "if": {"required": ["a"]}, "then": {"required": ["b"]}}, struct({"a": STRING})),
    ],
    ids=lambda one: str(one)[:40],
)
def test_schema_becomes_what_connect_makes_of_it(schema: Any, expected: Any) -> None:
    found = convert(schema)
    assert (sorted(name for name, _ in found.fields) if isinstance(expected, list) else found) == expected


def test_enum_has_its_symbols_as_parameters() -> None:
    found = convert({"type": "string", "enum": ["NEW", "PAID"], "title": "lost"})
    parameters = ((ENUM, ""), (f"{ENUM}.NEW", "NEW"), (f"{ENUM}.PAID", "PAID"))
    assert found == ConnectSchema(Kind.STRING, parameters=parameters)


def test_decimal_has_its_scale_and_its_version() -> None:
    found = convert({**DECIMAL, "connect.parameters": {"scale": 2}, "default": 1.5})
    parameters = ((logical.SCALE, "2"),)
    expected = ConnectSchema(
        Kind.BYTES, name=logical.DECIMAL, version=1, parameters=parameters, default=Decimal("1.50")
    )
    assert found == expected


@pytest.mark.parametrize(("flag", "expected"), [(True, [False, True, True]), (False, [False, False, True])])
def test_fields_are_optional_as_the_option_says(flag: bool, expected: list[bool]) -> None:
    schema = {**of(a=TEXT, b=TEXT, c={"type": ["null", "string"]}), "required": ["a"]}
    found = convert(schema, JsonSchemaOptions(optional_for_nonrequired=flag))
    assert [inner.optional for _, inner in found.fields] == expected


def test_fields_have_the_order_of_their_indices() -> None:
    schema = of(a={**TEXT, "connect.index": 2}, b={"$ref": "#/properties/a", "connect.index": 0}, c=WHOLE)
    assert [name for name, _ in convert(schema).fields] == ["b", "a", "c"]


def test_references_are_found_wherever_they_may_be() -> None:
    schema = {
        "$id": "http://x.example/orders/order.json",
        **of(
            a={"$ref": "#/$defs/A%20B"},
            b={"$ref": "#named"},
            c={"$ref": "address.json"},
            d={"$ref": "address.json#/definitions/Zip"},
            e={"$ref": "http://x.example/inner.json#/properties/z"},
            f={"$ref": "other"},
        ),
        "$defs": {"A B": TEXT, "n": {"$anchor": "named", **WHOLE}, "i": {"$id": "/inner.json", **of(z=WHOLE)}},
    }
    address = {**of(zip={"$ref": "#/definitions/Zip"}), "definitions": {"Zip": TEXT}}
    found = dict(convert(schema, OPTIONS, ("address.json", address), ("other", {"$id": "urn:o", **WHOLE})).fields)
    assert [found[name] for name in "abdef"] == [STRING, LONG, STRING, LONG, LONG]
    assert found["c"] == struct({"zip": STRING})


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (True, "no type that Kafka Connect has"),
        ({}, "no type that Kafka Connect has"),
        ({"const": 5}, "no type that Kafka Connect has"),
        (of(a={"type": "null"}), "no type that Kafka Connect has"),
        (of(a=5), "where a schema is expected"),
        ({"type": "text"}, "JSON Schema does not have"),
        ({"type": "integer", "connect.type": "int128"}, "known: int8, int16"),
        ({"type": "array"}, "array without a type of its items"),
        ({"type": "array", "items": [TEXT]}, "array without a type of its items"),
        ({"type": "object", "connect.type": "map"}, "additionalProperties say no type"),
        ({**DECIMAL, "connect.parameters": {}}, "scale"),
        ({**DECIMAL, "connect.parameters": {"scale": "39"}}, "scale"),
        ({**TEXT, "default": 5}, "has the default 5"),
        ({"type": "integer", "connect.type": "int8", "default": 500}, "has the default 500"),
        (of(a={"$ref": "#"}), "recursive"),
        ({**of(a={"$ref": "#/x"}), "x": {"type": "array", "items": {"$ref": "#/x"}}}, "recursive"),
        (of(a={"$ref": "http://x.example/a.json"}), "fetches no schemas"),
        (of(a={"$ref": "#/x/y"}), "there is no 'x'"),
        (of(a={"$ref": "#named"}), "which it does not have"),
        (of(a={"$ref": "http://["}), "where a URI is expected"),
        ({"oneOf": []}, "no list of schemas"),
        ({"type": "string", "connect.version": "1"}, "no whole number"),
        (of(**{f"f{i}": TEXT for i in range(MAX_FIELDS)}), f"more than {MAX_FIELDS} fields"),
    ],
    ids=lambda one: str(one)[:40],
)
def test_schema_that_no_record_can_have_is_refused(schema: Any, problem: str) -> None:
    assert problem in refused(schema)


def test_schema_too_deep_is_refused() -> None:
    schema: dict[str, Any] = TEXT
    for _ in range(MAX_DEPTH):
        schema = {"type": "array", "items": schema}
    assert f"more than {MAX_DEPTH} levels" in refused(schema)


def test_definition_that_doubles_itself_is_refused() -> None:
    definitions = {f"d{i}": of(a={"$ref": f"#/x/d{i + 1}"}, b={"$ref": f"#/x/d{i + 1}"}) for i in range(30)}
    assert "fields" in refused({"$ref": "#/x/d0", "x": {**definitions, "d30": TEXT}})
