"""Names of columns that Parquet files could not tell apart: a field of such a name never blocks its table."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.types import ListType, LongType, MapType, NestedField, StringType, StructType

from floe.parquet.exceptions import UnsupportedColumn
from floe.parquet.layout import FileLayout
from floe_job.convert.base import Decoded
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.schema.evolution import SchemaChanges
from floe_job.schema.proposal import ColumnRules

EVOLVE = ColumnRules(evolve=True)
ONE = StructType(NestedField(20, "_1", LongType(), required=False))
KNOWN = Schema(
    NestedField(1, "_1", LongType(), required=False),
    NestedField(2, "a.b", LongType(), required=False),
    NestedField(3, "o", ONE, required=False),
    NestedField(4, "l", ListType(5, ONE.model_copy(), element_required=False), required=False),
    NestedField(6, "m", MapType(7, StringType(), 8, ONE.model_copy(), value_required=False), required=False),
    NestedField(9, "p", LongType(), required=False),
    NestedField(10, "p.q", LongType(), required=False),
)


def decode(schema: Schema | None, *records: Any, rules: ColumnRules = EVOLVE) -> tuple[Decoded, SchemaChanges]:
    decoder = JsonDecoder(schema, rules, create=schema is None)
    return decoder.decode([json.dumps(record).encode() for record in records]), decoder.needs


@pytest.mark.parametrize(
    "record",
    [
        {"a.b": 1, "a_x2Eb": 2},
        {"1": 1, "_1": 2},
        {"o": {"1": 1, "_1": 2}},
        {"l": [{"1": 1}, {"_1": 2}]},
        {"\U0001f600": 2, "_x1F600": 3},
    ],
)
def test_record_with_two_names_equal_in_files_is_rejected(record: dict[str, Any]) -> None:
    decoded, needs = decode(None, record)
    assert [(rejected.stage, rejected.error) for rejected in decoded.rejected] == [("schema", "Unnameable")]
    assert "name in files" in decoded.rejected[0].reason
    assert not needs


@pytest.mark.parametrize(
    "record",
    [{"1": 1}, {"a_x2Eb": 1}, {"o": {"1": 1}}, {"l": [{"1": 1}]}, {"m": {"k": {"1": 1}}}, {"p_x2Eq": 1}],
)
def test_a_name_that_is_a_columns_in_files_is_taken(record: dict[str, Any]) -> None:
    decoded, needs = decode(KNOWN, {"_1": 1}, record, {"_1": 2})
    assert [(rejected.index, rejected.error) for rejected in decoded.rejected] == [(1, "Unnameable")]
    assert not needs
    assert not decode(KNOWN, record, rules=ColumnRules())[0].rejected


@pytest.mark.parametrize(
    "record", [{"s": {"1": 1, "a.b": 1}}, {"2": 1, "_3": 1}, {"a": {"c": 1}}, {"a.1": 1, "a._1": 1}]
)
def test_the_same_name_at_another_level_is_not_taken(record: dict[str, Any]) -> None:
    decoded, needs = decode(KNOWN, record)
    assert not decoded.rejected
    assert needs


def test_the_columns_of_a_transform_are_taken_too() -> None:
    rules = ColumnRules(evolve=True, injected=frozenset({"_5"}), taken=frozenset({"_5", "_5.1"}))
    assert decode(None, {"5": 1}, rules=rules)[0].rejected[0].error == "Unnameable"


names = st.sampled_from(
    [
        "1",
        "_1",
        "a",
        "b",
        "a.b",
        "a_x2Eb",
        "a.1",
        "a_x2E1",
        "a_x2E_1",
        "1.1",
        "_1_x2E1",
        "½",
        "_xBD",
        "x½",
        "-",
        "_x2D",
        "⺀",
        "_x2E80",
        "²",
        ".",
        "a.",
        "_x2E",
    ]
)
values = st.recursive(
    st.just(1),
    lambda inner: st.dictionaries(names, inner, min_size=1, max_size=3) | st.lists(inner, min_size=1, max_size=2),
    max_leaves=5,
)
records = st.dictionaries(names, values, min_size=1, max_size=3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.lists(records, max_size=3), min_size=1, max_size=3), st.lists(records, max_size=3))
def test_table_stays_writable_with_names_of_several_tasks(
    any_table: Table, tasks: list[list[Any]], later: list[Any]
) -> None:
    merged = SchemaChanges()
    for task in tasks:
        merged.merge(decode(None, *task)[1])
    schema = merged.new_schema()
    FileLayout.of(schema, {})
    for records in [*tasks, later]:
        for _ in range(3):
            decoded, needs = decode(schema, *records)
            if not needs:
                break
            update = UpdateSchema(any_table.transaction(), schema=schema)
            needs.apply(update)
            schema = update._apply()
            FileLayout.of(schema, {})
        assert not needs
        assert decoded.table is not None


def test_table_with_columns_equal_in_files_is_refused() -> None:
    schema = Schema(NestedField(1, "a.b", LongType()), NestedField(2, "a_x2Eb", LongType()))
    with pytest.raises(UnsupportedColumn, match=r"a_x2Eb.*rename one of them"):
        FileLayout.of(schema, {})
