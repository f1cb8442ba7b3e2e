"""Columns of Debezium's semantic types into columns of time, without a Python object for a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.types import DateType, IcebergType, TimestampType, TimestamptzType, TimeType

from floe_job.connect import debezium
from floe_job.connect.schema import ConnectSchema
from floe_job.convert.typed.leaves import Inexact, Leaf, beyond, bounded, either, rows_of
from floe_job.convert.typed.python_values import as_numbers
from floe_job.types.temporal import FIRST_DAY, FIRST_MICRO, LAST_DAY, LAST_MICRO, MICROS_PER_DAY

_STAMPS: Final = (TimestampType, TimestamptzType)
_TICKS: Final[dict[str, tuple[tuple[type[IcebergType], ...], int, int]]] = {
    debezium.TIME_MILLIS: ((TimeType,), 1000, 1),
    debezium.TIME_MICROS: ((TimeType,), 1, 1),
    debezium.TIME_NANOS: ((TimeType,), 1, 1000),
    debezium.TIMESTAMP_MILLIS: (_STAMPS, 1000, 1),
    debezium.TIMESTAMP_MICROS: (_STAMPS, 1, 1),
    debezium.TIMESTAMP_NANOS: (_STAMPS, 1, 1000),
}
"""Numbers: the columns that take what they mean, and by what they are multiplied, or divided, to become microseconds."""

_DAY: Final = r"\d{4}-\d{2}-\d{2}"
_TIME: Final = r"\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?"
_OFFSET: Final = r"(?:Z|[+-](?:0\d|1[0-7]):[0-5]\d)"
_TEXTS: Final[dict[str, tuple[tuple[type[IcebergType], ...], str, pa.DataType]]] = {
    debezium.ZONED_TIMESTAMP: ((TimestamptzType,), f"{_DAY}T{_TIME}{_OFFSET}", pa.timestamp("us", "UTC")),
    debezium.ISO_TIMESTAMP: (_STAMPS, f"{_DAY}T{_TIME}{_OFFSET}", pa.timestamp("us", "UTC")),
    debezium.ISO_DATE: ((DateType,), f"{_DAY}Z?", pa.date32()),
    debezium.ISO_TIME: ((TimeType,), f"{_TIME}Z", pa.timestamp("us", "UTC")),
}
"""Texts: the columns that take what they mean, how those are spelled that Arrow reads as floe does, and as what."""

_EPOCH, _NOTHING = (pa.scalar(text, pa.large_string()) for text in ("1970-01-01T", ""))
_PREPARED: Final[dict[str, Callable[[pa.Array], pa.Array]]] = {
    debezium.ISO_DATE: lambda column: pc.utf8_slice_codeunits(column, 0, 10),
    debezium.ISO_TIME: lambda column: pc.binary_join_element_wise(_EPOCH, column, _NOTHING),
}
"""What is done to texts before Arrow reads them."""


def meant_leaf(source: ConnectSchema, target: IcebergType, arrow: pa.DataType) -> Leaf | None:
    """Return the conversion into what values mean; None where a column takes what they are, or has them one by one."""
    name = debezium.meaning_of(source)
    if name == debezium.DATE and isinstance(target, DateType):
        return bounded((FIRST_DAY, LAST_DAY), arrow)
    if name in _TICKS and isinstance(target, _TICKS[name][0]):
        return _ticks(*_TICKS[name][1:], _limits(target), arrow)
    if name in _TEXTS and isinstance(target, _TEXTS[name][0]):
        return _texts(
            *_TEXTS[name][1:], _PREPARED.get(name, lambda column: column), bounded(_limits(target), arrow), arrow
        )
    return None


def _limits(target: IcebergType) -> tuple[int, int]:
    if isinstance(target, DateType):
        return FIRST_DAY, LAST_DAY
    return (0, MICROS_PER_DAY - 1) if isinstance(target, TimeType) else (FIRST_MICRO, LAST_MICRO)


def _ticks(factor: int, divisor: int, limits: tuple[int, int], arrow: pa.DataType) -> Leaf:
    within = bounded(limits, arrow)
    first, last = limits[0] // factor, limits[1] // factor

    def convert(column: pa.Array) -> tuple[pa.Array, Inexact]:
        ticks, bad = as_numbers(column), None
        if divisor > 1:
            whole = pc.divide(ticks, divisor)
            bad = rows_of(pc.not_equal(pc.multiply(whole, divisor), ticks))
            ticks = whole
        elif factor > 1:
            bad = beyond(ticks, first, last)
            ticks = pc.multiply(_without(ticks, bad), factor)
        converted, more = within(ticks)
        return converted, either(bad, more)

    return convert


def _texts(
    pattern: str, read_as: pa.DataType, prepare: Callable[[pa.Array], pa.Array], within: Leaf, arrow: pa.DataType
) -> Leaf:
    whole = rf"\A(?:{pattern})\z"

    def convert(column: pa.Array) -> tuple[pa.Array, Inexact]:
        bad = rows_of(pc.invert(pc.match_substring_regex(column, whole)))
        try:
            read = prepare(_without(column, bad)).cast(read_as)
        except pa.ArrowInvalid:  # the 31st of February
            return pa.nulls(len(column), arrow), np.ones(len(column), np.bool_)
        converted, more = within(read)
        return converted, either(bad, more)

    return convert


def _without(column: pa.Array, rows: Inexact) -> pa.Array:
    return column if rows is None else pc.if_else(pa.array(rows), pa.scalar(None, column.type), column)
