"""Connect's schemas from their JSON."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from floe_job.connect import logical
from floe_job.connect.schema import ABSENT, ConnectSchema, Kind
from floe_job.convert.envelope.schema_parser import MAX_DEPTH, MAX_FIELDS, connect_schema
from floe_job.exceptions import UnusableSchema


def parsed(given: Any) -> ConnectSchema:
    return connect_schema(given, fill_defaults=True)


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind not in (Kind.ARRAY, Kind.MAP, Kind.STRUCT)])
def test_primitive_types_have_their_kind(kind: Kind) -> None:
    assert parsed({"type": kind.value}) == ConnectSchema(kind)
    assert parsed({"type": kind.value, "optional": True}) == ConnectSchema(kind, optional=True)


def test_nested_types_have_the_schemas_inside() -> None:
    text = ConnectSchema(Kind.STRING)
    fields = [{"field": "é", "type": "string"}, {"field": "b", "type": "array", "items": {"type": "string"}}]
    made = parsed({"type": "struct", "fields": fields, "name": "x.Y", "doc": "what"})
    array = ConnectSchema(Kind.ARRAY, element=text)
    assert made == ConnectSchema(Kind.STRUCT, name="x.Y", fields=(("é", text), ("b", array)))
    made = parsed({"type": "map", "keys": {"type": "int32"}, "values": {"type": "string"}})
    assert made == ConnectSchema(Kind.MAP, key=ConnectSchema(Kind.INT32), element=text)


def test_properties_of_other_types_count_as_absent() -> None:
    made = parsed({"type": "int32", "optional": "true", "name": 7, "version": "1", "parameters": []})
    assert made == ConnectSchema(Kind.INT32)
    made = parsed({"type": "int32", "name": "n", "version": 2, "parameters": {"a": "b"}})
    assert made == ConnectSchema(Kind.INT32, name="n", version=2, parameters=(("a", "b"),))
    assert parsed({"type": "int64", "name": logical.AVRO_TIMESTAMP_MICROS}) == ConnectSchema(Kind.INT64)


@pytest.mark.parametrize(
    ("given", "default"),
    [
        ({"type": "int32", "default": 5}, 5),
        ({"type": "string", "optional": True, "default": None}, ABSENT),
        ({"type": "int32", "name": logical.DATE, "default": 1}, date(1970, 1, 2)),
        ({"type": "int32", "name": logical.DATE, "default": 9_999_999}, 9_999_999),
        ({"type": "bytes", "name": logical.DECIMAL, "parameters": {"scale": "1"}, "default": "fQ=="}, Decimal("12.5")),
        ({"type": "array", "items": {"type": "int8", "default": 1}, "default": [2, None]}, [2, 1]),
        ({"type": "map", "keys": {"type": "int8"}, "values": {"type": "int8"}, "default": [[1, 2]]}, [(1, 2)]),
    ],
)
def test_defaults_are_values_of_their_schema(given: Any, default: Any) -> None:
    assert parsed(given).default == default


def nested(levels: int) -> Any:
    made: Any = {"type": "string"}
    for _ in range(levels - 1):
        made = {"type": "array", "items": made}
    return made


STRUCT = {"type": "struct", "fields": [{"field": "a", "type": "int32"}]}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (7, "it has no type: it is 7"),
        ([], "it has no type"),
        ({}, "it has no type"),
        ({"type": 3}, "it has no type"),
        ({"type": "long"}, 'it has the type "long"'),
        ({"type": "array"}, "it has the type array and no 'items'"),
        ({"type": "array", "items": None}, "no 'items'"),
        ({"type": "map", "keys": {"type": "string"}}, "no 'values'"),
        ({"type": "map", "keys": STRUCT, "values": {"type": "string"}}, "a map whose keys are structs"),
        ({"type": "struct"}, "its 'fields' are no array"),
        ({"type": "struct", "fields": [7]}, "a field without a name: 7"),
        ({"type": "struct", "fields": [{"type": "string"}]}, "a field without a name"),
        ({"type": "struct", "fields": [{"type": "string", "field": ""}]}, "a field without a name"),
        ({"type": "struct", "fields": [{"type": "string", "field": "a"}] * 2}, 'two fields named "a"'),
        ({"type": "struct", "fields": [{"type": "x", "field": "a"}]}, "its field 'a' has the type"),
        ({"type": "string", "parameters": {"a": 1}}, "parameters that are no texts"),
        ({"type": "string", "name": logical.DATE}, "has the type string, and not int32"),
        ({"type": "bytes", "name": logical.DECIMAL}, "has the scale ''"),
        ({"type": "bytes", "name": logical.DECIMAL, "parameters": {"scale": "-1"}}, "has the scale '-1'"),
        ({"type": "int32", "default": None}, "has the default null"),
        ({"type": "int32", "default": 1.5}, "has the default 1.5, which does not fit its type"),
        ({**STRUCT, "default": {"a": 1}}, "a struct with a default"),
        (nested(MAX_DEPTH + 1), f"it has more than {MAX_DEPTH} levels"),
        (
            {"type": "struct", "fields": [{"field": f"f{n}", "type": "int8"} for n in range(MAX_FIELDS)]},
            "more than 5000",
        ),
    ],
)
def test_schemas_that_are_none_are_refused_with_the_reason(given: Any, reason: str) -> None:
    with pytest.raises(UnusableSchema) as refused:
        parsed(given)
    assert reason in refused.value.reason


def test_schema_at_the_limits_is_read() -> None:
    assert parsed(nested(MAX_DEPTH)).kind is Kind.ARRAY
    fields = [{"field": f"f{n}", "type": "int8"} for n in range(MAX_FIELDS - 1)]
    assert len(parsed({"type": "struct", "fields": fields}).fields) == MAX_FIELDS - 1
