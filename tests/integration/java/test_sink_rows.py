"""floe's rows against those that the Kafka Connect sink's own classes make of the same records, file and all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.name_mapping import MappedField, NameMapping
from pyiceberg.types import IntegerType, LongType, NestedField, StringType, StructType

from floe.config.converters.base import ConverterSpec
from floe.config.converters.kinds import ENVELOPE
from floe.config.properties import Properties
from floe_job.convert.base import Converters
from floe_job.convert.context import ConverterContext
from floe_job.convert.makers import converters_of
from floe_job.schema.proposal import ColumnRules
from tests.support.avro import Branch, Schemas, Values
from tests.support.java.differences import DOCUMENTED, differences, documented_type
from tests.support.java.pairs import COLUMNS, JSON_VALUES, SOURCES, encoded, texts_of
from tests.support.java.program import Ask, java_program
from tests.support.java.rows import tree
from tests.support.java.sink import EMPTY_GROUP, PROGRAM, SINK_PACKAGES, Rows, floe_rows, sink_rows
from tests.support.java.versions import Versions
from tests.support.job.converters import JSON_CONVERTERS, NO_REGISTRY
from tests.support.job.formats.avro_orders import registered
from tests.support.job.formats.avro_records import APICURIO
from tests.support.job.formats.envelopes import Envelopes
from tests.support.tables.any_table import any_table

__all__ = ["any_table"]

SCHEMAS = int(os.environ.get("FLOE_ORACLE_SCHEMAS", "10"))
"""Random schemas of each test, with ``RECORDS`` of each."""
RECORDS = 25

GROW = {"auto-create-enabled": "true", "evolve-schema-enabled": "true"}
MODES: dict[str, tuple[dict[str, str], ColumnRules]] = {
    "plain": ({}, ColumnRules(evolve=True)),
    "force optional": ({"schema-force-optional": "true"}, ColumnRules(evolve=True, force_optional=True)),
    "fold": ({"schema-case-insensitive": "true"}, ColumnRules(evolve=True, case_insensitive=True)),
}
NOT_IN_APICURIO = ("Mismatched names", "Invalid type for MAP")
"""Errors of Apicurio's converter, see test_avro.py."""


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """Ask the sink's classes, in one process for all tests."""
    with java_program(PROGRAM, SINK_PACKAGES, has_long_run=SCHEMAS > 100) as one:
        yield one


def array_of(kind: Any) -> Any:
    return {"type": "array", "items": kind}


def map_of(kind: Any) -> Any:
    return {"type": "map", "values": kind}


def envelopes(**options: str) -> Converters:
    return converters_of(ConverterSpec(ENVELOPE, Properties(options)), NO_REGISTRY)


def avro(*schemas: str) -> Converters:
    return converters_of(APICURIO, ConverterContext(lambda _: lambda number: registered(schemas[number])))


def assert_same(sink: Rows, floe: Rows, shown: Any) -> int:
    """Compare schemas and rows; returns how many records both have read. What the sink cannot read, floe rejects."""
    assert sink.schema is not None
    assert floe.schema is not None
    assert tree(floe.schema) == tree(sink.schema), shown
    assert dict(floe.rows) == dict(sink.rows), shown
    return len(floe.rows)


@pytest.mark.parametrize("mode", MODES)
def test_random_envelopes_make_the_rows_of_the_sink(ask: Ask, any_table: Table, mode: str) -> None:
    keys, rules = MODES[mode]
    compared = 0
    for seed in range(SCHEMAS):
        made = Envelopes(Random(f"{mode} {seed}"))
        schema = made.struct()
        records = [made.record(schema, made.value({**schema, "optional": False})) for _ in range(RECORDS)]
        sink = sink_rows(ask, records, keys={**GROW, **keys})
        compared += assert_same(sink, floe_rows(envelopes(), records, any_table, rules), records[0])
    assert compared > SCHEMAS * RECORDS // 2


@pytest.mark.parametrize("fill", ["true", "false"])
def test_wrong_payloads_make_no_other_rows_than_the_sink_s(ask: Ask, any_table: Table, fill: str) -> None:
    options = {"replace.null.with.default": fill}
    read = rejected = 0
    for seed in range(SCHEMAS):
        made = Envelopes(Random(f"{fill} {seed}"))
        schema, wild = made.struct(), Envelopes(made.random, 0.05)
        records = [wild.record(schema, wild.value(schema)) for _ in range(RECORDS)]
        sink = sink_rows(ask, records, keys=GROW, options=options)
        floe = floe_rows(envelopes(**options), records, any_table, ColumnRules(evolve=True))
        for place, row in floe.rows.items():
            assert is_same(row, sink.rows.get(place), may_be_null=fill == "false"), (records[place], sink.errors)
        read += len(floe.rows)
        rejected += len(floe.errors)
    assert read > SCHEMAS * RECORDS // 4
    assert rejected > SCHEMAS


def is_same(floe: Any, sink: Any, *, may_be_null: bool) -> bool:
    """Compare rows. ``may_be_null``: the sink fills in defaults whatever the converter's options say."""
    if may_be_null and (floe is None or (isinstance(floe, str) and "null" in floe)):  # entries of maps are texts
        return True
    if isinstance(floe, dict) and isinstance(sink, dict):
        return all(is_same(floe[name], one, may_be_null=may_be_null) for name, one in sink.items())
    if isinstance(floe, list) and isinstance(sink, list) and len(floe) == len(sink):
        return all(is_same(a, b, may_be_null=may_be_null) for a, b in zip(floe, sink, strict=True))
    return bool(floe == sink)


def test_random_avro_records_make_the_rows_of_the_sink(ask: Ask, any_table: Table) -> None:
    compared = 0
    for seed in range(SCHEMAS):
        random = Random(seed)
        schema = as_connect_reads(Schemas(random).record())
        values = Values(random)
        values.learn(schema)
        records = [bytes(9) + values.encode(schema, values.value(schema)) for _ in range(RECORDS)]
        text = json.dumps(schema)
        sink = sink_rows(ask, records, avro=[text], keys=GROW)
        if any(known in error for known in (EMPTY_GROUP, *NOT_IN_APICURIO) for error in sink.errors.values()):
            continue
        compared += assert_same(sink, floe_rows(avro(text), records, any_table, ColumnRules(evolve=True)), text)
    assert compared > SCHEMAS * RECORDS // 3


def as_connect_reads(schema: Any) -> Any:
    """Return a schema without what Connect has no name for: times of microseconds, and of no zone."""
    if isinstance(schema, list):
        return [as_connect_reads(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("logicalType", "").startswith("local-") or schema.get("logicalType", "").endswith("-micros"):
        return schema["type"]
    inside = ("type", "items", "values", "fields")
    return {key: as_connect_reads(value) if key in inside else value for key, value in schema.items()}


def test_evolved_schemas_make_the_rows_of_the_sink(ask: Ask, any_table: Table) -> None:
    compared = 0
    for seed in range(SCHEMAS):
        random = Random(seed)
        made = Versions(random, is_for_sink=True)
        schemas = [made.record()]
        for _ in range(3):
            schemas.append(made.next(schemas[-1]))
        texts, records = [json.dumps(one) for one in schemas], []
        for number, schema in enumerate(schemas):
            values = Values(random)
            values.learn(schema)
            head = b"\x00" + number.to_bytes(8, "big")
            records += [head + values.encode(schema, values.value(schema)) for _ in range(RECORDS // 4)]
        sink = sink_rows(ask, records, avro=texts, keys=GROW)
        assert not sink.errors, texts
        compared += assert_same(sink, floe_rows(avro(*texts), records, any_table, ColumnRules(evolve=True)), texts)
    assert compared == SCHEMAS * (RECORDS // 4) * 4


def versions(first: Any, value: Any, then: Any, other: Any) -> tuple[list[str], list[bytes]]:
    """Return two schemas with one field each, and a record of each."""
    schemas, records = [], []
    for number, (kind, one) in enumerate(((first, value), (then, other))):
        schemas.append({"type": "record", "name": "R", "fields": [{"name": "c", "type": kind}]})
        values = Values(Random(0))
        values.learn(schemas[-1])
        records.append(b"\x00" + number.to_bytes(8, "big") + values.encode(schemas[-1], {"c": one}))
    return [json.dumps(schema) for schema in schemas], records


PAIR = {"type": "record", "name": "P", "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "int"}]}
FIRST = {**PAIR, "fields": PAIR["fields"][:1]}
CUT_BY_SINK: list[tuple[Any, Any, Any, Any, Any, Any]] = [
    (array_of("int"), [1], array_of("long"), [2**40], ["0"], [str(2**40)]),
    (array_of("float"), [1.5], array_of("double"), [0.1], ["3dcccccd"], ["3fb999999999999a"]),
    (map_of("int"), [("k", 1)], map_of("long"), [("k", 2**40)], ['"6b":"0"'], [f'"6b":"{2**40}"']),
    (array_of("int"), [1], array_of(["null", "int"]), [Branch(0, None)], None, [None]),
    (PAIR, {"a": 1, "b": 2}, FIRST, {"a": 3}, None, {"a": "3", "b": None}),
    (FIRST, {"a": 1}, ["null", PAIR], Branch(1, {"a": 3, "b": 4}), {"a": "3"}, {"a": "3", "b": "4"}),
]
"""Two versions of a schema, each with a value: what the sink makes of the second, or None where it fails; what floe makes."""


@pytest.mark.parametrize(("first", "value", "then", "other", "by_sink", "by_floe"), CUT_BY_SINK)
def test_changes_that_the_sink_does_not_follow_lose_nothing(
    ask: Ask, any_table: Table, first: Any, value: Any, then: Any, other: Any, by_sink: Any, by_floe: Any
) -> None:
    texts, records = versions(first, value, then, other)
    sink = sink_rows(ask, records, avro=texts, keys=GROW)
    assert sink.rows.get(1, {"c": None})["c"] == by_sink
    floe = floe_rows(avro(*texts), records, any_table, ColumnRules(evolve=True))
    assert floe.rows[1]["c"] == by_floe
    assert not floe.errors


CASES = Schema(
    NestedField(1, "ID", LongType(), required=False),
    NestedField(2, "Name", StringType(), required=False),
    NestedField(3, "Pair", StructType(NestedField(4, "A", IntegerType(), required=False)), required=False),
)
SPELLED = [("id", "long"), ("ID", "long"), ("name", "string"), ("NAME", "string"), ("pair", PAIR)]


@pytest.mark.parametrize("fold", [False, True])
@pytest.mark.parametrize("evolve", [False, True])
def test_columns_are_found_as_the_sink_finds_them(ask: Ask, any_table: Table, fold: bool, evolve: bool) -> None:
    keys = {"schema-case-insensitive": str(fold).lower(), "evolve-schema-enabled": str(evolve).lower()}
    rules = ColumnRules(evolve=evolve, case_insensitive=fold, case_twins=True)  # which the sink adds
    for seed in range(SCHEMAS):
        random = Random(seed)
        chosen = random.sample(SPELLED, 3)
        schema = {"type": "record", "name": "R", "fields": [{"name": name, "type": kind} for name, kind in chosen]}
        values = Values(random)
        values.learn(schema)
        records = [bytes(9) + values.encode(schema, values.value(schema)) for _ in range(3)]
        text = json.dumps(schema)
        sink = sink_rows(ask, records, avro=[text], table=CASES, keys=keys)
        assert_same(sink, floe_rows(avro(text), records, any_table, rules, CASES), text)


def test_name_mappings_are_used_as_by_the_sink(ask: Ask, any_table: Table) -> None:
    inner = MappedField(field_id=4, names=["x"])
    mapping = NameMapping(
        [MappedField(field_id=1, names=["key", "id"]), MappedField(field_id=3, names=["pair"], fields=[inner])]
    )
    pair = {"type": "record", "name": "P", "fields": [{"name": name, "type": "int"} for name in ("A", "x")]}
    for names in (("key", "Name"), ("id", "name"), ("ID", "Name"), ("x", "y")):
        fields: list[Any] = [{"name": names[0], "type": "long"}, {"name": names[1], "type": "string"}]
        schema = {"type": "record", "name": "R", "fields": [*fields, {"name": "pair", "type": pair}]}
        value = {names[0]: 5, names[1]: "é", "pair": {"A": 6, "x": 7}}
        records = [bytes(9) + Values(Random(0)).encode(schema, value)]
        text = json.dumps(schema)
        sink = sink_rows(ask, records, avro=[text], table=CASES, mapping=mapping)
        assert_same(sink, floe_rows(avro(text), records, any_table, ColumnRules(), CASES, mapping), names)


def test_values_differ_from_the_sink_s_as_documented(ask: Ask, any_table: Table) -> None:
    texts, places = texts_of(SOURCES), []
    records: list[bytes] = []
    for number, (name, source) in enumerate(SOURCES.items()):
        records += encoded(source, number)
        places += [name] * len(source.values)
    found: dict[tuple[str, str], set[str]] = {}
    for column, kind in COLUMNS.items():
        table = Schema(NestedField(1, "c", kind, required=False))
        sink = sink_rows(ask, records, avro=texts, table=table)
        floe = floe_rows(avro(*texts), records, any_table, ColumnRules(), table)
        assert not any("NullPointer" in error for error in sink.errors.values())
        for place, difference in differences(sink, floe).items():
            if kind.is_primitive:
                found.setdefault((documented_type(places[place]), column.partition("(")[0]), set()).add(difference)
            else:
                assert (places[place], column, difference) in IN_NESTED_COLUMNS
    assert found == DOCUMENTED


NEVER_REJECT = {name for name, kind in COLUMNS.items() if not kind.is_primitive and name != "list<long>"} | {
    "decimal(9, 1)",
    "binary",
    "fixed[2]",
}
"""Columns that take no value otherwise than the sink does."""


def test_json_without_schemas_differs_as_documented(ask: Ask, any_table: Table) -> None:
    records = [f'{{"c":{value}}}'.encode() for value in JSON_VALUES]
    found: dict[str, set[str]] = {}
    for column, kind in COLUMNS.items():
        table = Schema(NestedField(1, "c", kind, required=False))
        sink = sink_rows(ask, records, options={"schemas.enable": "false"}, table=table)
        floe = floe_rows(JSON_CONVERTERS, records, any_table, ColumnRules(), table)
        for place, difference in differences(sink, floe).items():
            found.setdefault(difference, set()).add(column)
            if difference == "writes" and column in ("float", "double", "string"):
                assert JSON_VALUES[place] in ("9223372036854775808", "12345678901234567890", "-0.0")
    assert found == {
        "rejects": COLUMNS.keys() - NEVER_REJECT,
        "takes": {"timestamp", "timestamptz"},
        "writes": {"float", "double", "string", "decimal(38, 10)", "timestamp", "timestamptz"},
    }


IN_NESTED_COLUMNS = {
    ("ARRAY of FLOAT32", "list<long>", "rejects"),
    ("ARRAY of STRUCT", "list<string>", "writes"),
    ("MAP of FLOAT64 to STRING", "map<int, string>", "rejects"),
    ("STRUCT of all", "struct<a: string, z: int>", "rejects"),
}
"""What is inside of a column is documented by its own type."""
