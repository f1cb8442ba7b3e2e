"""The values of a typed column one by one, for the exact way: those of JSON, and those of ``floe_job.types.typed_values``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import accumulate, pairwise
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
from pyiceberg.types import TimestamptzType

from floe_job.connect import debezium, logical
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.types.numbers import Single
from floe_job.types.temporal import days_of_text, micros_of_text, micros_of_time_text
from floe_job.types.typed_values import Day, DayTime, Meant, Moment, ScaledNumber

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


# Debezium's semantic types one by one, for the exact way; see ``floe_job.connect.debezium``.


MAX_DECIMAL_BYTES: Final = 65_536
MAX_DECIMAL_SCALE: Final = 131_072
"""Beyond what PostgreSQL's numeric has; the text of a number is not longer than the two allow."""

_DATE_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}T[^+-]*(?:Z|[+-]\d{2}(?::?\d{2})?)", re.ASCII)
_FINER_THAN_MICROS: Final = re.compile(r"\.\d{6}0*[1-9]", re.ASCII)


def _nanos_of_day(nanos: int) -> Meant:
    return Meant(nanos, None if nanos % 1000 else DayTime(nanos // 1000))


def _nanos(nanos: int) -> Meant:
    return Meant(nanos, None if nanos % 1000 else Moment(nanos // 1000))


def _zoned_timestamp(text: str) -> Meant:
    return Meant(text, _moment(text), (TimestamptzType,))


def _iso_date(text: str) -> Meant:
    days = days_of_text(text.removesuffix("Z"))
    return Meant(text, None if days is None else Day(days))


def _iso_time(text: str) -> Meant:
    micros = None if _FINER_THAN_MICROS.search(text) else micros_of_time_text(text.removesuffix("Z"))
    return Meant(text, None if micros is None else DayTime(micros))


def _moment(text: str) -> Moment | None:
    """Read date and time with an offset; None for all else, and for what is finer than a microsecond."""
    if not _DATE_TIME.fullmatch(text) or _FINER_THAN_MICROS.search(text):
        return None
    micros = micros_of_text(text, apply_zone=True)
    return None if micros is None else Moment(micros)


def _scaled_number(fields: dict[str, Any]) -> ScaledNumber:
    scale, value = fields[debezium.SCALE], fields[debezium.VALUE]
    if scale is None or not value or len(value) > MAX_DECIMAL_BYTES or abs(scale) > MAX_DECIMAL_SCALE:
        return ScaledNumber(fields, None)
    sign, digits, _ = Decimal(int.from_bytes(value, "big", signed=True)).as_tuple()
    if scale < 0:
        digits, scale = (*digits, *([0] * -scale)), 0
    return ScaledNumber(fields, Decimal((sign, digits, -scale)))


MADE: Final[dict[str, Callable[[Any], Any]]] = {
    debezium.DATE: lambda days: Meant(days, Day(days)),
    debezium.TIME_MILLIS: lambda millis: Meant(millis, DayTime(millis * 1000)),
    debezium.TIME_MICROS: lambda micros: Meant(micros, DayTime(micros)),
    debezium.TIME_NANOS: _nanos_of_day,
    debezium.TIMESTAMP_MILLIS: lambda millis: Meant(millis, Moment(millis * 1000)),
    debezium.TIMESTAMP_MICROS: lambda micros: Meant(micros, Moment(micros)),
    debezium.TIMESTAMP_NANOS: _nanos,
    debezium.ZONED_TIMESTAMP: _zoned_timestamp,
    debezium.ISO_DATE: _iso_date,
    debezium.ISO_TIME: _iso_time,
    debezium.ISO_TIMESTAMP: lambda text: Meant(text, _moment(text)),
    debezium.DECIMAL: _scaled_number,
}
"""By the name of the schema: from what a value is to that and what it means."""
