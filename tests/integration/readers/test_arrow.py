"""PyIceberg and Polars count the rows of floe's tables right, whatever they are asked by."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from pyiceberg.expressions import (
    BooleanExpression,
    EqualTo,
    GreaterThanOrEqual,
    In,
    IsNull,
    LessThan,
    NotEqualTo,
)
from pyiceberg.types import UUIDType
from readers.filters import Filter, filters, is_float
from readers.reader_tables import ReaderTable

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, ">=": operator.ge
}  # fmt: skip
EXPRESSIONS: dict[str, Any] = {"=": EqualTo, "!=": NotEqualTo, "<": LessThan, ">=": GreaterThanOrEqual}
Rows = list[dict[str, Any]]


def expected(one: Filter, rows: Rows) -> int:
    """Count by hand."""
    values = [_value(row, one.column.name) for row in rows]
    if one.operator == "is null":
        return values.count(None)
    there = [value for value in values if value is not None]
    if one.operator == "in":
        return sum(value in one.values for value in there)
    return sum(COMPARISONS[one.operator](value, one.values[0]) for value in there)


def _value(row: dict[str, Any], name: str) -> Any:
    for part in name.split("."):
        row = None if row is None else row[part]  # type: ignore[assignment]
    return row


def expression(one: Filter) -> BooleanExpression:
    values = one.values
    if one.operator == "is null":
        return IsNull(one.column.name)
    return (
        In(one.column.name, values) if one.operator == "in" else EXPRESSIONS[one.operator](one.column.name, values[0])
    )


@pytest.mark.parametrize("name", ["plain", "partitioned", "clock", "clock_partitioned"])
def test_pyiceberg_passes_over_no_file_with_rows(tables: dict[str, ReaderTable], name: str) -> None:
    table = tables[name].table
    rows = table.scan().to_arrow().to_pylist()
    wrong = []
    for one in filters(tables[name]):
        if one.column.name == "uuid_identity":
            continue  # PyIceberg 0.12 compares a partition's UUID with bytes
        found = sum(task.file.record_count for task in table.scan(expression(one)).plan_files())
        if not expected(one, rows) <= found <= len(rows):
            wrong.append((one.sql, expected(one, rows), found))
    assert not wrong


@pytest.mark.parametrize("name", ["plain", "clock"])
def test_pyiceberg_counts_every_filter_right(tables: dict[str, ReaderTable], name: str) -> None:
    table = tables[name].table
    rows = table.scan().to_arrow().to_pylist()
    wrong = []
    for one in filters(tables[name]):
        # Arrow compares no UUIDs, and takes -0.0 and 0.0 for two where it looks values up
        if isinstance(one.column.kind.type, UUIDType) or (is_float(one.column) and one.operator in ("in", "!=")):
            continue
        found = table.scan(expression(one), selected_fields=("id",)).to_arrow().num_rows
        if found != expected(one, rows):
            wrong.append((one.sql, expected(one, rows), found))
    assert not wrong


@pytest.fixture(autouse=True)
def planner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars plans by PyIceberg: its own planner is another package."""
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")


@pytest.mark.parametrize("name", ["plain", "clock"])
def test_polars_counts_every_filter_right(tables: dict[str, ReaderTable], name: str) -> None:
    rows = tables[name].table.scan().to_arrow().to_pylist()
    scan = pl.scan_iceberg(tables[name].table)
    wrong = []
    for one in filters(tables[name]):
        # to Polars NaN is the largest number
        if isinstance(one.column.kind.type, UUIDType) or (is_float(one.column) and one.operator in (">=", "!=")):
            continue
        found = scan.filter(_polars(one)).select(pl.len()).collect().item()
        if found != expected(one, rows):
            wrong.append((one.sql, expected(one, rows), found))
    assert not wrong


def _polars(one: Filter) -> pl.Expr:
    root, *inner = one.column.name.split(".")
    column = pl.col(root)
    for part in inner:
        column = column.struct.field(part)
    if one.operator == "is null":
        return column.is_null()
    if one.operator == "in":
        return (column == one.values[0]) | (column == one.values[1])
    return COMPARISONS[one.operator](column, one.values[0])  # type: ignore[return-value]
