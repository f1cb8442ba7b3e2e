"""The values of a typed column one by one, for the exact way: those of JSON, and those of ``floe_job.types.typed_values``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from typing import Any, cast

import numpy as np
import pyarrow as pa

from floe_job.connect import debezium, logical
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.typed.debezium.values import MADE
from floe_job.types.number_tokens import Single
from floe_job.types.typed_values import Day, DayTime, Moment

Lengths = np.ndarray[Any, np.dtype[np.int64]]

_MADE: dict[str, Callable[[int], Any]] = {
    logical.DATE: Day,
    logical.TIME: DayTime,
    logical.TIMESTAMP: Moment,
    logical.AVRO_TIME_MICROS: lambda micros: DayTime(micros, micros),
    logical.AVRO_TIMESTAMP_MICROS: lambda micros: Moment(micros, micros),
    logical.AVRO_LOCAL_TIMESTAMP_MICROS: lambda micros: Moment(micros, micros),
    logical.AVRO_LOCAL_TIMESTAMP_MILLIS: lambda micros: Moment(micros, micros // 1000),
}


def python_values(column: pa.Array, schema: ConnectSchema) -> list[Any]:
    """Return the values of a column in the Arrow type of its schema; None for nulls."""
    made = MADE.get(debezium.meaning_of(schema))
    if made is None:
        return _values(column, schema)
    return [None if value is None else made(value) for value in _values(column, schema)]


def _values(column: pa.Array, schema: ConnectSchema) -> list[Any]:
    if schema.kind is Kind.STRUCT:
        return _structs(column, schema)
    if schema.kind is Kind.ARRAY:
        return _lists(column, python_values(column.flatten(), cast(ConnectSchema, schema.element)))
    if schema.kind is Kind.MAP:
        return _maps(column, schema)
    if pa.types.is_temporal(column.type):
        made = _MADE[schema.name or ""]
        return [None if number is None else made(number) for number in as_numbers(column).to_pylist()]
    if schema.kind is Kind.FLOAT32:
        return [None if value is None else Single(value) for value in column.to_pylist()]
    return cast(list[Any], column.to_pylist())


def as_numbers(column: pa.Array) -> pa.Array:
    """Return dates as days and times as microseconds."""
    return column.cast(pa.int32()).cast(pa.int64()) if pa.types.is_date32(column.type) else column.cast(pa.int64())


def lengths_of(column: pa.Array) -> Lengths:
    """Return how many entries each list or map has; null ones have none."""
    lengths = np.diff(column.offsets.to_numpy(zero_copy_only=False)).astype(np.int64)
    return np.where(column.is_valid().to_numpy(zero_copy_only=False), lengths, 0) if column.null_count else lengths


def map_entries(column: pa.MapArray) -> tuple[pa.Array, pa.Array, Lengths]:
    """Return the keys and the values of all maps, without those of null ones, and how many each map has."""
    lengths = lengths_of(column)
    if column.null_count:
        column = column.drop_null()
    first, last = (column.offsets[0].as_py(), column.offsets[-1].as_py()) if len(column) else (0, 0)
    return column.keys[first:last], column.items[first:last], lengths


def _structs(column: pa.StructArray, schema: ConnectSchema) -> list[Any]:
    names = [name for name, _ in schema.fields]
    children = [python_values(child, inner) for child, (_, inner) in zip(column.flatten(), schema.fields, strict=True)]
    rows: Iterator[tuple[Any, ...]] = zip(*children, strict=True) if children else iter([()] * len(column))
    present = column.is_valid().to_pylist()
    return [dict(zip(names, row, strict=True)) if here else None for here, row in zip(present, rows, strict=True)]


def _lists(column: pa.Array, values: list[Any]) -> list[Any]:
    ends = accumulate(lengths_of(column).tolist(), initial=0)
    present = column.is_valid().to_pylist()
    return [values[start:end] if here else None for here, (start, end) in zip(present, pairwise(ends), strict=True)]


def _maps(column: pa.MapArray, schema: ConnectSchema) -> list[Any]:
    keys, values, _ = map_entries(column)
    found = python_values(keys, cast(ConnectSchema, schema.key))
    made = [_KEYS[type(key)](key) if type(key) in _KEYS else key for key in found]
    pairs = list(zip(made, python_values(values, cast(ConnectSchema, schema.element)), strict=True))
    return [None if entries is None else dict(entries) for entries in _lists(column, pairs)]


class _StructKey(dict[Any, Any]):
    """A struct or a map that is the key of a map."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(repr(self))


class _ListKey(list[Any]):
    """A list that is the key of a map."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(repr(self))


_KEYS: dict[type, Callable[[Any], Any]] = {dict: _StructKey, list: _ListKey}
