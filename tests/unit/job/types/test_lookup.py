"""Section 3.5 of the sink's behaviour: which field of a record goes into which column."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table.name_mapping import MappedField, NameMapping, parse_mapping_from_json
from pyiceberg.types import IntegerType, ListType, LongType, MapType, NestedField, StringType, StructType

from floe_job.convert.base import Decoded
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.schema.evolution import SchemaChanges
from floe_job.schema.proposal import ColumnRules
from tests.support.tables.parquet_tables import TableFactory

INNER = StructType(NestedField(11, "Inner", LongType(), required=False))
SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "Name", StringType(), required=False),
    NestedField(3, "s", INNER, required=False),
    NestedField(
        4, "l", ListType(5, StructType(NestedField(12, "x", LongType(), required=False)), element_required=False)
    ),
)
PLAIN, FOLD = ColumnRules(), ColumnRules(case_insensitive=True)
MAPPING = NameMapping(
    [
        MappedField(**{"field-id": 1, "names": ["ident", "key"]}),
        MappedField(**{"field-id": 2, "names": []}),
        MappedField(
            **{
                "field-id": 4,
                "names": ["l"],
                "fields": [{"field-id": 5, "names": ["element"], "fields": [{"field-id": 12, "names": ["ex"]}]}],
            }
        ),
    ]
)


def decode(
    records: list[Any], rules: ColumnRules = PLAIN, mapping: NameMapping | None = None, schema: Schema = SCHEMA
) -> tuple[Decoded, SchemaChanges]:
    decoder = JsonDecoder(schema, rules, create=False, name_mapping=mapping)
    return decoder.decode([r if isinstance(r, bytes) else json.dumps(r).encode() for r in records]), decoder.needs


def row(record: Any, rules: ColumnRules = PLAIN, mapping: NameMapping | None = None) -> dict[str, Any]:
    decoded, _ = decode([record], rules, mapping)
    assert decoded.table is not None
    return {name: value for name, value in decoded.table.to_pylist()[0].items() if value is not None}


def test_names_are_exact_unless_told_otherwise() -> None:
    assert row({"id": 1, "ID": 2, "name": "x", "s": {"inner": 1}}) == {"id": 1, "s": {"Inner": None}}


def test_without_regard_to_case_at_every_depth() -> None:
    record = {"ID": 1, "nAME": "x", "S": {"INNER": 2}, "L": [{"X": 3}]}
    assert row(record, FOLD) == {"id": 1, "Name": "x", "s": {"Inner": 2}, "l": [{"x": 3}]}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (b'{"id":1,"ID":2}', {"id": 2}),
        (b'{"ID":2,"id":1}', {"id": 1}),
        (b'{"ID":2,"id":null}', {}),
        (b'{"ID":"bad","id":1}', {"id": 1}),
        (b'{"s":{"inner":1,"INNER":2}}', {"s": {"Inner": 2}}),
        (b'{"s":{"inner":1},"S":{}}', {"s": {"Inner": None}}),
        (b'{"id":1,"\\u0049D":null}', {}),
    ],
)
def test_of_two_spellings_in_one_record_the_last_one_wins(record: bytes, expected: dict[str, Any]) -> None:
    assert row(record, FOLD) == expected
    many = decode([b'{"ID":7}', b'{"id":8}'] * 40 + [record], FOLD)[0]
    assert many.table is not None
    rows = many.table.to_pylist()
    assert [r["id"] for r in rows[:-1]] == [7, 8] * 40
    assert {name: value for name, value in rows[-1].items() if value is not None} == expected


def test_exact_name_finds_its_column_among_two_cases() -> None:
    schema = Schema(NestedField(1, "a", LongType(), required=False), NestedField(2, "A", LongType(), required=False))
    decoded, _ = decode([{"A": 2, "a": 1}, {"A": 2}], FOLD, schema=schema)
    assert decoded.table is not None
    assert decoded.table.to_pylist() == [{"a": 1, "A": 2}, {"a": None, "A": 2}]


def test_case_insensitive_adds_no_column_of_another_case(new_table: TableFactory) -> None:
    rules = ColumnRules(evolve=True, case_insensitive=True)
    _, needs = decode([{"ID": 1, "New": 1}, {"new": 2.5}, {"NEW": 3, "S": {"inner": 1, "More": 1, "more": 2}}], rules)
    assert needs.columns == {("New",): "double", ("s", "More"): "long"}
    merged = SchemaChanges()
    for record in ({"Task": 1}, {"TASK": 1.5}):
        merged.merge(decode([record], rules)[1])
    assert merged.columns == {("Task",): "double"}
    table = new_table(SCHEMA)
    with table.update_schema() as update:
        update.add_column("TASK", LongType())
    assert not merged.beyond(table.schema())


def test_column_of_another_case_is_rejected_by_default() -> None:
    decoded, needs = decode([{"ID": 1}], ColumnRules(evolve=True))
    assert len(decoded.rejected) == 1
    assert not needs.columns
    _, needs = decode([{"ID": 1}], ColumnRules(evolve=True, case_twins=True))
    assert list(needs.columns) == [("ID",)]


def test_mapped_field_matches_its_names_only() -> None:
    assert row({"ident": 1, "Name": "x", "s": {"Inner": 2}, "l": [{"ex": 3, "x": 4}]}, mapping=MAPPING) == {
        "id": 1,
        "Name": "x",
        "s": {"Inner": 2},
        "l": [{"ex": 3}["ex"] and {"x": 3}],
    }
    assert row({"id": 1}, mapping=MAPPING) == {}
    assert row({"key": 5}, mapping=MAPPING) == {"id": 5}
    assert row(b'{"key":5,"ident":null}', mapping=MAPPING) == {}


def test_a_mapping_goes_before_case_insensitivity() -> None:
    assert row({"IDENT": 1, "name": "x"}, FOLD, MAPPING) == {}


def test_column_name_mapped_away_is_neither_read_nor_added() -> None:
    decoded, needs = decode([{"id": 1, "l": [{"x": 1}], "other": 1}] * 50, ColumnRules(evolve=True), MAPPING)
    assert not decoded.rejected
    assert list(needs.columns) == [("other",)]


def test_the_mapping_of_a_tables_property_is_read(new_table: TableFactory) -> None:
    text = '[{"field-id": 1, "names": ["ident"]}, {"names": ["nowhere"]}]'
    table = new_table(Schema(SCHEMA.fields[0]), properties={"schema.name-mapping.default": text})
    assert table.name_mapping() == parse_mapping_from_json(text)
    decoded, _ = decode([{"ident": 1}], mapping=table.name_mapping(), schema=table.schema())
    assert decoded.table is not None
    assert decoded.table.to_pylist() == [{"id": 1}]


def test_the_output_follows_the_tables_order() -> None:
    decoded, _ = decode([{"s": None, "Name": "x", "id": 1}])
    assert decoded.table is not None
    assert decoded.table.column_names == ["id", "Name", "s", "l"]


def test_unknown_fields_are_dropped_without_evolution() -> None:
    decoded, needs = decode([{"id": 1, "z": 1}, {"id": 2, "z": "x"}])
    assert decoded.table is not None
    assert (decoded.table.num_rows, bool(needs)) == (2, False)


# -- the fast path ----------------------------------------------------------------------------------------------------

CLEAN = [{"id": number, "Name": "x", "s": {"Inner": 1}, "l": [{"x": 1}, {"x": 2}]} for number in range(500)]
UPPER = [{"ID": number, "NAME": "x", "S": {"INNER": 1}, "L": [{"X": 1}, {"X": 2}]} for number in range(500)]
EXTRA = [record | {"extra": {"deep": [1]}} for record in UPPER]
MAPPED = [{"ident": number, "Name": "x", "s": {"Inner": 1}, "l": [{"ex": 1}, {"ex": 2}]} for number in range(500)]
OTHER_NAME = [{"key": number, "Name": "x", "s": {"Inner": 1}, "l": [{"ex": 1}, {"ex": 2}]} for number in range(500)]


@pytest.mark.parametrize("evolve", [False, True])
@pytest.mark.parametrize(
    ("records", "case_insensitive", "mapping"),
    [
        (CLEAN, False, None),
        (CLEAN, True, None),
        (UPPER, True, None),
        (CLEAN[:250] + UPPER[250:], True, None),
        ([UPPER[number] if number % 3 else CLEAN[number] for number in range(500)], True, None),
        (MAPPED, False, MAPPING),
        (OTHER_NAME, True, MAPPING),
        (MAPPED[:250] + OTHER_NAME[250:], False, MAPPING),
    ],
)
def test_clean_records_are_columnar_under_any_lookup(
    records: list[Any], case_insensitive: bool, mapping: NameMapping | None, evolve: bool
) -> None:
    decoded, _ = decode(records, ColumnRules(evolve=evolve, case_insensitive=case_insensitive), mapping)
    assert decoded.fast_rows == len(records)
    assert decoded.fast
    assert decoded.table is not None
    assert decoded.table.to_pylist() == CLEAN


def test_fields_that_are_dropped_do_not_leave_the_columnar_path() -> None:
    decoded, _ = decode(EXTRA, FOLD)
    assert decoded.fast_rows == len(EXTRA)


def test_table_with_map_is_columnar_while_the_map_is_null() -> None:
    schema = Schema(NestedField(1, "m", MapType(2, StringType(), 3, IntegerType()), required=False), SCHEMA.fields[1])
    assert decode([{"Name": "x", "m": None}] * 50, schema=schema)[0].fast_rows == 50
    assert decode([{"Name": "x", "m": {"a": 1}}] * 50, schema=schema)[0].fast_rows == 0


# -- columns that a transform fills in --------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [PLAIN, FOLD], ids=["exact", "fold"])
@pytest.mark.parametrize("evolve", [False, True])
def test_field_of_injected_name_is_neither_read_nor_proposed(rules: ColumnRules, evolve: bool) -> None:
    schema = Schema(NestedField(1, "meta", LongType(), required=True), SCHEMA.fields[1])
    of = ColumnRules(evolve, rules.case_insensitive, injected=frozenset({"meta", "other"}))
    decoded, needs = decode([{"Name": "x", "meta": "bad", "other": 1}, {"Name": "y"}, {"meta": 5}], of, schema=schema)
    assert decoded.table is not None
    assert (decoded.rejected, bool(needs)) == ((), False)
    assert [r["Name"] for r in decoded.table.to_pylist()] == ["x", "y", None]
    assert decoded.table.column("meta").null_count == 3
    clean, _ = decode([{"Name": "x", "meta": 1}] * 50, of, schema=schema)
    assert clean.fast_rows == 50
