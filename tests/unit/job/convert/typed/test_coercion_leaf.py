"""Columns of texts and numbers into columns of another type: as columns, with the result of the values one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    LongType,
    MapType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
)

from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema, Kind, map_of, struct
from floe_job.convert.typed import table
from floe_job.convert.typed.base import TypedBatch, TypedPart
from floe_job.convert.typed.table import TypedTable
from floe_job.schema.proposal import ColumnRules

TEXT, LONG = ConnectSchema(Kind.STRING, optional=True), ConnectSchema(Kind.INT64, optional=True)
DOUBLE, FLOAT = ConnectSchema(Kind.FLOAT64, optional=True), ConnectSchema(Kind.FLOAT32, optional=True)
TIMES = [DateType(), TimestampType(), TimestamptzType()]
DECIMALS = [DecimalType(12, 2), DecimalType(38, 0), DecimalType(38, 10), DecimalType(3, 3), DecimalType(38, 30)]

moments = st.datetimes()
offsets = st.sampled_from(["", "Z", "+00:00", "-23:59", "+1800", "-0530", "+17:59", "+02", "z"])
iso_texts = st.builds(
    lambda moment, separator, timespec, offset: moment.isoformat(separator, timespec) + offset,
    moments,
    st.sampled_from("T "),
    st.sampled_from(["minutes", "seconds", "milliseconds", "microseconds"]),
    offsets,
)
texts = (
    iso_texts
    | moments.map(lambda moment: moment.date().isoformat())
    | st.sampled_from(
        ["2023-02-29", "2023-02-29T00:00:00", "0000-01-01", "2023-01-01T24:00:00", "2023-01-01\n", "", "\uff15"]
    )
)
doubles = (
    st.floats()
    | st.builds(lambda digits, places: float(f"{digits}e-{places}"), st.integers(-(10**17), 10**17), st.integers(0, 25))
    | st.sampled_from([0.005, 1.005, 2.675, 1e15, 999_999_999_999_999.0, 9999999999.99, 9999999999.995, -0.0, 5e-324])
)
whole = st.integers(-(2**63), 2**63 - 1) | st.integers(-(10**12), 10**12) | st.integers(-99_999, 99_999)


class Given:
    """A decoder whose values are decoded already."""

    def __init__(self, schema: ConnectSchema) -> None:
        self._schema = schema

    def decode(self, values: Sequence[Any]) -> TypedBatch:
        column = pa.array([{"v": value} for value in values], arrow_type(self._schema))
        return TypedBatch((TypedPart(self._schema, np.arange(len(values)), column),), (), len(values))


def rows(source: ConnectSchema, target: IcebergType, values: Sequence[Any]) -> tuple[list[bytes | None], Any, int]:
    """Return the values in the column, exactly, the rejected records with their reasons, and how many were columnar."""
    schema = Schema(NestedField(1, "v", target, required=False))
    decoded = TypedTable(Given(struct({"v": source})), schema, ColumnRules(), create=False).decode(values)
    assert decoded.table is not None
    column = decoded.table.column(0).combine_chunks()
    return [repr(value) for value in column], decoded.rejected, decoded.fast_rows


def assert_same(source: ConnectSchema, target: IcebergType, values: Sequence[Any]) -> int:
    *found, columnar = rows(source, target, values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "field_columnar", lambda *_: None)
        *wanted, _ = rows(source, target, values)
    assert found == wanted
    return columnar


@pytest.mark.parametrize("target", TIMES, ids=str)
@settings(max_examples=60)
@given(st.lists(st.none() | texts, max_size=6))
@example([None, "2024-05-06T07:08:09.123+02:00", "2024-05-06T07:08:09Z", "2024-05-06"])
@example(["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59.999999-01:00"])
def test_texts_become_times_as_one_by_one(target: IcebergType, values: list[str | None]) -> None:
    assert_same(TEXT, target, values)


@pytest.mark.parametrize("source", [DOUBLE, FLOAT], ids=["double", "float"])
@pytest.mark.parametrize("target", DECIMALS, ids=str)
@settings(max_examples=60)
@given(st.lists(st.none() | doubles, max_size=6))
@example([0.29, 1.15, 12.3, 1e14 + 0.5, None])
def test_doubles_become_decimals_as_one_by_one(source: ConnectSchema, target: DecimalType, values: list[Any]) -> None:
    given = pa.array(values, pa.float32() if source is FLOAT else pa.float64()).to_pylist()
    assert_same(source, target, given)


@pytest.mark.parametrize(
    "target", [*TIMES, *DECIMALS, DecimalType(18, 18), DoubleType(), FloatType(), StringType()], ids=str
)
@settings(max_examples=60)
@given(st.lists(st.none() | whole, max_size=6))
@example([2**53 + 1, 2**63 - 1, -(2**63), 16_777_217, 9_999_999_999, 10_000_000_000])
def test_whole_numbers_are_coerced_as_one_by_one(target: IcebergType, values: list[int | None]) -> None:
    assert_same(LONG, target, values)


@pytest.mark.parametrize(
    ("source", "target", "values"),
    [
        (TEXT, TimestamptzType(), [None, "2024-05-06T07:08:09.123+02:00", "2024-05-06 07:08:09-0330"]),
        (TEXT, TimestampType(), ["2024-05-06T07:08:09.123456Z", "2024-05-06 07:08:09", None]),
        (TEXT, DateType(), ["2024-05-06", None]),
        (DOUBLE, DecimalType(12, 2), [0.1, 1234567.89, -0.05, None, 0.0]),
        (LONG, DecimalType(12, 2), [5, -7, None]),
        (LONG, TimestamptzType(), [1_700_000_000_123, None]),
        (LONG, DateType(), [19_000, None]),
        (LONG, DoubleType(), [2**53 + 1, None]),
        (LONG, StringType(), [2**63 - 1, -(2**63), 0, None]),
        (ConnectSchema(Kind.INT8, optional=True), StringType(), [-128, 127, None]),
    ],
    ids=str,
)
def test_usual_values_are_coerced_as_columns(source: ConnectSchema, target: IcebergType, values: list[Any]) -> None:
    assert assert_same(source, target, values) == len(values)


def test_odd_value_is_the_only_one_by_itself() -> None:
    values = ["2024-05-06T07:08:09Z"] * 20
    assert assert_same(TEXT, TimestamptzType(), [*values, "2024-05-06", *values]) == 40
    assert assert_same(DOUBLE, DecimalType(12, 2), [0.25, 0.125, 0.5]) == 2


def test_keys_that_become_the_same_one_are_merged() -> None:
    texts_of_one_time = [("2024-05-06T07:08:09Z", 1), ("2024-05-06 07:08:09", 2)]
    target = MapType(2, TimestampType(), 3, LongType(), value_required=False)
    assert_same(map_of(ConnectSchema(Kind.STRING), LONG), target, [texts_of_one_time])
