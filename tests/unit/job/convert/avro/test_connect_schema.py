"""What Connect makes of Avro schemas: the rules of ``AvroData``. Expectations were compared with Apicurio's 2.6.13."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from floe_job.connect import logical
from floe_job.connect.schema import ABSENT, ConnectSchema, Kind, array, map_of
from floe_job.convert.avro.connect_schema import MAX_FIELDS, UNION, connect_schema
from floe_job.convert.avro.schema import MAX_DEPTH, MAX_TYPES, AvroOptions, parse_schema
from floe_job.exceptions import UnusableSchema
from tests.support.job.formats.avro_orders import registered

STRING, INT, LONG = ConnectSchema(Kind.STRING), ConnectSchema(Kind.INT32), ConnectSchema(Kind.INT64)
OPTIONS = AvroOptions()


def convert(schema: Any, options: AvroOptions = OPTIONS, *references: tuple[str, Any]) -> ConnectSchema:
    texts = tuple((name, json.dumps(one)) for name, one in references)
    return connect_schema(parse_schema(registered(json.dumps(schema), *texts)), options)


def record(*types: Any, name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": f"f{i}", "type": one} for i, one in enumerate(types)]}


def refused(schema: Any, options: AvroOptions = OPTIONS) -> str:
    with pytest.raises(UnusableSchema) as error:
        convert(schema, options)
    return str(error.value)


def decimal(scale: str, **more: str) -> ConnectSchema:
    parameters = {logical.SCALE: scale, **{key.replace("_", "."): value for key, value in more.items()}}
    return ConnectSchema(Kind.BYTES, name=logical.DECIMAL, version=1, parameters=tuple(parameters.items()))


@pytest.mark.parametrize(
    ("avro", "expected"),
    [
        ("boolean", ConnectSchema(Kind.BOOLEAN)),
        ("int", INT),
        ("long", LONG),
        ("float", ConnectSchema(Kind.FLOAT32)),
        ("double", ConnectSchema(Kind.FLOAT64)),
        ("bytes", ConnectSchema(Kind.BYTES)),
        ("string", STRING),
        ({"type": {"type": "string"}}, STRING),
        ({"type": "array", "items": "int"}, array(INT)),
        ({"type": "map", "values": "long"}, map_of(STRING, LONG)),
        (["null", "int"], ConnectSchema(Kind.INT32, optional=True)),
        (["int", "null"], ConnectSchema(Kind.INT32, optional=True)),
        (["int"], INT),
        ({"type": "int", "connect.type": "int8"}, ConnectSchema(Kind.INT8)),
        ({"type": "int", "connect.type": "int16"}, ConnectSchema(Kind.INT16)),
        ({"type": "int", "connect.type": "int8", "logicalType": "x"}, INT),
        ({"type": "int", "logicalType": "date"}, ConnectSchema(Kind.INT32, name=logical.DATE, version=1)),
        ({"type": "int", "logicalType": "time-millis"}, ConnectSchema(Kind.INT32, name=logical.TIME, version=1)),
        (
            {"type": "long", "logicalType": "timestamp-millis"},
            ConnectSchema(Kind.INT64, name=logical.TIMESTAMP, version=1),
        ),
        ({"type": "int", "logicalType": "timestamp-millis"}, INT),
        ({"type": "long", "logicalType": "time-micros"}, ConnectSchema(Kind.INT64, name=logical.AVRO_TIME_MICROS)),
        (
            {"type": "long", "logicalType": "timestamp-micros"},
            ConnectSchema(Kind.INT64, name=logical.AVRO_TIMESTAMP_MICROS),
        ),
        ({"type": "long", "logicalType": "timestamp-nanos"}, LONG),
        ({"type": "string", "logicalType": "uuid"}, ConnectSchema(Kind.STRING, name=logical.AVRO_UUID)),
        ({"type": "bytes", "logicalType": "DECIMAL"}, decimal("0")),
        ({"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}, decimal("2")),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            decimal("2", connect_decimal_precision="9"),
        ),
        (
            {"type": "fixed", "name": "n.F", "size": 4},
            ConnectSchema(Kind.BYTES, name="n.F", parameters=(("connect.fixed.size", "4"),)),
        ),
        (
            {"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "scale": 1},
            decimal("1", connect_fixed_size="4"),
        ),
        (
            {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp", "connect.version": 1},
            ConnectSchema(Kind.INT64, name="io.debezium.time.MicroTimestamp", version=1),
        ),
        (
            {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp", "logicalType": "timestamp-micros"},
            ConnectSchema(Kind.INT64, name="io.debezium.time.MicroTimestamp"),
        ),
        ({"type": "int", "connect.name": logical.DATE}, ConnectSchema(Kind.INT32, name=logical.DATE)),
        ({"type": "string", "connect.parameters": {"a": "b"}}, ConnectSchema(Kind.STRING, parameters=(("a", "b"),))),
        (
            {"type": "string", "avro.java.string": "String"},
            ConnectSchema(Kind.STRING, parameters=(("avro.java.string", "String"),)),
        ),
    ],
)
def test_type_becomes_its_connect_schema(avro: Any, expected: ConnectSchema) -> None:
    assert convert(avro) == expected


def test_enum_is_a_string_that_names_its_symbols() -> None:
    enum = "io.confluent.connect.avro.Enum"
    assert convert({"type": "enum", "name": "E", "namespace": "n", "symbols": ["A"]}) == ConnectSchema(
        Kind.STRING, name="n.E", parameters=((enum, "n.E"), (f"{enum}.A", "A"))
    )


def test_record_has_its_full_name_and_fields() -> None:
    schema = convert({**record("int", ["null", "string"]), "namespace": "a.b", "connect.version": 3})
    fields = (("f0", INT), ("f1", ConnectSchema(Kind.STRING, optional=True)))
    assert schema == ConnectSchema(Kind.STRUCT, name="a.b.R", version=3, fields=fields)
    assert convert(record(name="io.confluent.connect.avro.ConnectDefault")).name is None


A, B = record("int", name="x.A"), record("long", name="y.A")


def test_union_of_many_is_a_struct_of_its_branches() -> None:
    fixed = {"type": "fixed", "name": "q.F", "size": 2}
    schema = convert(["null", "string", A, fixed, {"type": "array", "items": "int"}])
    assert (schema.kind, schema.name, schema.optional) == (Kind.STRUCT, UNION, True)
    assert [name for name, _ in schema.fields] == ["string", "A", "F", "array"]
    assert all(one.optional for _, one in schema.fields)
    assert not convert(["string", "long"]).optional


def test_branches_have_full_names_with_enhanced_support() -> None:
    assert [name for name, _ in convert([A, B], AvroOptions(enhanced_support=True)).fields] == ["x.A", "y.A"]
    assert "two branches named 'A': set enhanced.avro.schema.support" in refused([A, B])


def test_union_of_one_is_a_struct_unless_flattened() -> None:
    schema = convert(["string"], AvroOptions(flatten_singletons=False))
    assert schema == ConnectSchema(
        Kind.STRUCT, name=UNION, fields=(("string", ConnectSchema(Kind.STRING, optional=True)),)
    )


@pytest.mark.parametrize("name", ["io.confluent.connect.avro.MapEntry", "M"])
def test_entries_of_a_map_are_a_map(name: str) -> None:
    fields = [{"name": "key", "type": "int"}, {"name": "value", "type": ["null", "string"]}]
    entry = {"type": "record", "name": name, "fields": fields}
    if name == "M":
        entry["connect.internal.type"] = "MapEntry"
    assert convert({"type": "array", "items": entry}) == map_of(INT, ConnectSchema(Kind.STRING, optional=True))


def test_metadata_is_left_out_if_told() -> None:
    options = AvroOptions(connect_metadata=False)
    avro = {"type": "string", "connect.name": "n", "connect.parameters": {"a": "b"}}
    assert convert(avro, options) == ConnectSchema(Kind.STRING, name="n")


@pytest.mark.parametrize(
    ("avro", "default", "expected"),
    [
        ("int", 5, 5),
        ("int", "x", ABSENT),
        ("int", 2**31, ABSENT),
        ("boolean", True, True),
        ("boolean", 1, ABSENT),
        ("double", 2, 2.0),
        ("bytes", "ÿ\x01", b"\xff\x01"),
        ("bytes", "☃", ABSENT),
        ("string", None, ABSENT),
        (["null", "string"], None, ABSENT),
        (["string", "null"], "x", ABSENT),
        (["string", "long"], "x", {"string": "x", "long": None}),
        (["string", "long"], 7, {"string": None, "long": 7}),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "A", "A"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "B", ABSENT),
        ({"type": "array", "items": "int"}, [1, 2], [1, 2]),
        ({"type": "map", "values": "int"}, {"a": 1}, [("a", 1)]),
        ({"type": "int", "logicalType": "date"}, 1, date(1970, 1, 2)),
        ({"type": "int", "logicalType": "time-millis"}, -1, ABSENT),
        ({"type": "int", "logicalType": "date"}, 2**31 - 1, ABSENT),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, "\x01\x00", Decimal("2.56")),
        (record("int"), {"f0": 4}, {"f0": 4}),
        (record("int"), {}, ABSENT),
        ({"type": "int", "connect.default": 7}, ABSENT, 7),
        ({"type": "int", "connect.default": 7}, 8, 8),
        ([{"type": "int", "connect.default": 7}, "null"], None, 7),
    ],
)
def test_default_is_a_value_or_left_out(avro: Any, default: Any, expected: Any) -> None:
    field = {"name": "f", "type": avro} | ({} if default is ABSENT else {"default": default})
    ((_, schema),) = convert({"type": "record", "name": "D", "fields": [field]}).fields
    assert schema.default == expected
    assert type(schema.default) is type(expected)


def test_names_are_found_in_references_and_namespaces() -> None:
    street = {"type": "record", "name": "Street", "namespace": "a", "fields": [{"name": "s", "type": "string"}]}
    place = {"type": "record", "name": "Place", "namespace": "a", "fields": [{"name": "street", "type": "Street"}]}
    order = {"type": "record", "name": "Order", "namespace": "b", "fields": [{"name": "p", "type": "a.Place"}]}
    schema = convert(order, OPTIONS, ("a.Street", street), ("a.Place", place), ("again", street))
    ((_, inner),) = schema.fields
    assert inner.name == "a.Place"
    assert inner.fields[0][1].fields == (("s", STRING),)


@pytest.mark.parametrize(
    ("avro", "reason"),
    [
        ("nope", "uses 'nope', which it does not declare"),
        (7, "has 7 where a type is expected"),
        (record({"type": 7}), "has 7 where a type is expected"),
        (record("R"), "is recursive: 'R' contains itself"),
        (record(["null", {"type": "array", "items": "R"}]), "is recursive: 'R' contains itself"),
        ("null", "a null that is not in a union"),
        (["null"], "a null that is not in a union"),
        (record({"type": "array", "items": "null"}), "a null that is not in a union"),
        ([["int"]], "a union directly in a union"),
        (["int", "int"], "a union with two branches 'int'"),
        ([], "a union without a branch"),
        ({"type": "array"}, "a type 'array' without 'items'"),
        ({"type": "record", "name": "R"}, "a type 'record' without 'fields'"),
        ({"type": "record", "name": "R", "fields": 1}, "whose 'fields' is 1, and no list"),
        ({"type": "record", "name": "R", "fields": [{"name": "f"}]}, "a field without a name or a type"),
        ({"type": "record", "name": 1, "fields": []}, "as the name of a type"),
        ({"type": "record", "name": "R", "fields": [{"name": "f", "type": "int"}] * 2}, "two of the field 'f'"),
        ({"type": "enum", "name": "E", "symbols": ["A", "A"]}, "two of the symbol 'A'"),
        ({"type": "enum", "name": "E", "symbols": [1]}, "a symbol that is no text"),
        ({"type": "fixed", "name": "F", "size": -1}, "has the size -1"),
        (record(record(name="X"), record(name="X")), "declares 'X' twice"),
        ({"type": "int", "connect.type": "int64"}, "connect.type is 'int64'"),
        ({"type": "long", "connect.name": "x", "logicalType": "timestamp-millis"}, "connect.name 'x'"),
        ({"type": "long", "connect.version": 2, "logicalType": "timestamp-millis"}, "connect.version 2"),
        ({"type": "string", "connect.name": logical.DATE}, "has the type string, and not int32"),
        ({"type": "string", "connect.parameters": {"a": 1}}, "connect.parameters that are no texts"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 39}, "scale '39'"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": -1}, "scale '-1'"),
        ({"type": "bytes", "logicalType": "decimal", "precision": "4"}, "precision '4'"),
        (
            {"type": "array", "items": {"type": "record", "name": "io.confluent.connect.avro.MapEntry", "fields": []}},
            "map entries with the fields []",
        ),
        (
            {
                "type": "array",
                "items": {**record(), "connect.internal.type": "MapEntry"}
                | {"fields": [{"name": "key", "type": record(name="K")}, {"name": "value", "type": "int"}]},
            },
            "a map whose keys are structs",
        ),
        (record(*["int"] * (MAX_FIELDS + 1)), f"more than {MAX_FIELDS} fields"),
        (record(*["int"] * (MAX_TYPES + 1)), f"more than {MAX_TYPES} types"),
    ],
)
def test_schema_that_cannot_be_read_is_refused(avro: Any, reason: str) -> None:
    message = refused(avro)
    assert reason in message
    assert len(message) < 300


@pytest.mark.parametrize("text", ["", "{", "[", "\x00", '{"type": "record"', "[" * 100_000])
def test_text_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(UnusableSchema):
        parse_schema(registered(text))


def test_depth_and_expansion_are_limited() -> None:
    deep: Any = "int"
    for _ in range(MAX_DEPTH + 1):
        deep = {"type": "array", "items": deep}
    assert f"more than {MAX_DEPTH} levels" in refused(deep)
    chain = [record(f"C{i - 1}" if i else "int", name=f"C{i}") for i in range(3_000)]
    assert f"more than {MAX_DEPTH} levels" in refused(record(*chain))
    names = [record(*[f"R{i - 1}"] * 10 if i else ["int"], name=f"R{i}") for i in range(9)]  # 10^9 fields, written in 9
    assert "more than" in refused(record(*names))


def test_union_options_do_not_count_twice() -> None:
    assert len(convert(record(*[["null", "int"]] * (MAX_FIELDS - 1))).fields) == MAX_FIELDS - 1
