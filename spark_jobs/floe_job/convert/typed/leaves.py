"""Columns of primitive values into columns of a table; see ``floe_job.convert.typed.columns``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
)

from floe_job.connect import debezium, logical
from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema
from floe_job.convert.typed.python_values import as_numbers
from floe_job.types.numbers import INT_RANGE, LONG_RANGE, ROUNDS_TO_INFINITE_FLOAT
from floe_job.types.temporal import FIRST_DAY, FIRST_MICRO, LAST_DAY, LAST_MICRO, MICROS_PER_DAY, TIMES, times_of_texts

Inexact = np.ndarray[Any, np.dtype[np.bool_]] | None
"""The rows of a column that have no exact conversion; None for none of them."""
Leaf = Callable[[pa.Array], tuple[pa.Array, Inexact]]

RAW: Final = frozenset(
    {
        logical.AVRO_TIME_MICROS,
        logical.AVRO_TIMESTAMP_MICROS,
        logical.AVRO_LOCAL_TIMESTAMP_MICROS,
        logical.AVRO_LOCAL_TIMESTAMP_MILLIS,
    }
)
"""Times that the sink takes for plain longs: a long column gets their number."""

MAX_EXACT_POWER: Final = 22
"""The largest power of ten that a double has exactly."""
DOUBLE_DIGITS: Final = 15
"""Digits of a decimal that no other decimal of as many digits has the same double as."""

_SAME: Final[dict[type[IcebergType], Callable[[pa.DataType], bool]]] = {
    BooleanType: pa.types.is_boolean,
    StringType: pa.types.is_large_string,
    BinaryType: pa.types.is_large_binary,
    LongType: pa.types.is_integer,
    DoubleType: pa.types.is_floating,
}
"""The kinds of columns that every value of some Arrow types fits into."""


def leaf(source: ConnectSchema, target: IcebergType, arrow: pa.DataType) -> Leaf | None:
    """Return the conversion of a primitive column; None where values are converted one by one."""
    have = arrow_type(source)
    if type(target) in _SAME and _SAME[type(target)](have):
        return _cast(arrow)
    if isinstance(target, IntegerType) and pa.types.is_integer(have):
        return bounded(INT_RANGE, arrow) if have.bit_width > arrow.bit_width else _cast(arrow)
    if isinstance(target, FloatType) and pa.types.is_floating(have):
        return _cast(arrow) if have == arrow else _narrowed
    if isinstance(target, LongType) and source.name in RAW and pa.types.is_temporal(have):
        return _millis if source.name == logical.AVRO_LOCAL_TIMESTAMP_MILLIS else _numbers
    if isinstance(target, DecimalType) and pa.types.is_decimal(have) and have.scale == target.scale:
        return _decimals(target, arrow)
    return _time(have, target, arrow)


def coercion_leaf(source: ConnectSchema, target: IcebergType, arrow: pa.DataType) -> Leaf | None:
    """Return the conversion of values that are of another type than the column, as those of JSON often are.

    Two values may become the same one: this is not for the keys of maps.
    """
    if debezium.meaning_of(source):
        return None
    have = arrow_type(source)
    if isinstance(target, TIMES) and pa.types.is_large_string(have):
        return partial(times_of_texts, target=target, arrow=arrow)
    if isinstance(target, DecimalType) and pa.types.is_floating(have) and target.scale <= MAX_EXACT_POWER:
        return _decimals_of_doubles(target, arrow)
    if not pa.types.is_integer(have):
        return None
    if isinstance(target, StringType):
        return None if source.name else _cast(arrow)
    if isinstance(target, DecimalType):
        return _decimals_of_whole(target, arrow)
    if isinstance(target, FloatType | DoubleType):
        return lambda column: (column.cast(pa.float64(), safe=False).cast(arrow, safe=False), None)
    if isinstance(target, DateType):
        return bounded((FIRST_DAY, LAST_DAY), arrow)
    return _moments(arrow) if isinstance(target, TimestampType | TimestamptzType) else None


def _time(have: pa.DataType, target: IcebergType, arrow: pa.DataType) -> Leaf | None:
    if isinstance(target, DateType) and pa.types.is_date32(have):
        return bounded((FIRST_DAY, LAST_DAY), arrow)
    if isinstance(target, TimeType) and pa.types.is_time64(have):
        return bounded((0, MICROS_PER_DAY - 1), arrow)
    if isinstance(target, TimestampType | TimestamptzType) and pa.types.is_timestamp(have):
        return bounded((FIRST_MICRO, LAST_MICRO), arrow)
    return None


def _cast(arrow: pa.DataType) -> Leaf:
    return lambda column: (column if column.type == arrow else column.cast(arrow), None)


def bounded(limits: tuple[int, int], arrow: pa.DataType) -> Leaf:
    """Return the conversion of whole numbers, days or microseconds that are exact within limits."""

    def convert(column: pa.Array) -> tuple[pa.Array, Inexact]:
        numbers = as_numbers(column)
        outside = beyond(numbers, *limits)
        if outside is not None:
            numbers = pc.if_else(pa.array(outside), pa.scalar(None, numbers.type), numbers)
        if pa.types.is_date32(arrow):
            numbers = numbers.cast(pa.int32())
        return numbers.cast(arrow), outside

    return convert


def _narrowed(column: pa.Array) -> tuple[pa.Array, Inexact]:
    sizes = pc.abs(column)
    too_large = pc.and_(pc.greater_equal(sizes, ROUNDS_TO_INFINITE_FLOAT), pc.is_finite(column))
    return column.cast(pa.float32(), safe=False), rows_of(too_large)


def _numbers(column: pa.Array) -> tuple[pa.Array, Inexact]:
    return as_numbers(column), None


def _millis(column: pa.Array) -> tuple[pa.Array, Inexact]:
    return pc.divide(as_numbers(column), 1000), None


def _decimals(target: DecimalType, arrow: pa.DataType) -> Leaf:
    limit = pa.scalar(10 ** (target.precision - target.scale), pa.decimal128(38, 0)) if target.precision < 38 else None

    def convert(column: pa.Array) -> tuple[pa.Array, Inexact]:
        if limit is None:
            return column, None
        too_large = rows_of(pc.greater_equal(pc.abs(column).cast(pa.decimal256(76, target.scale)), limit))
        if too_large is not None:
            column = pc.if_else(pa.array(too_large), pa.scalar(None, column.type), column)
        return column.cast(arrow), too_large

    return convert


def _decimals_of_whole(target: DecimalType, arrow: pa.DataType) -> Leaf:
    most = 10 ** max(target.precision - target.scale, 0) - 1
    within = bounded((max(-most, LONG_RANGE[0]), min(most, LONG_RANGE[1])), pa.int64())

    def convert(column: pa.Array) -> tuple[pa.Array, Inexact]:
        numbers, outside = within(column)
        return numbers.cast(pa.decimal256(76, target.scale)).cast(arrow), outside

    return convert


def _decimals_of_doubles(target: DecimalType, arrow: pa.DataType) -> Leaf:
    """Return the conversion of the doubles that are a decimal of this scale and of up to 15 digits.

    Of all decimals of up to 15 digits only one is nearest to such a double, and it is the one that the double is written as.
    """
    power, limit = 10.0**target.scale, 10.0 ** min(target.precision, DOUBLE_DIGITS)

    def convert(column: pa.Array) -> tuple[pa.Array, Inexact]:
        doubles = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        with np.errstate(over="ignore", invalid="ignore"):
            unscaled = np.rint(doubles * power)
            is_exact = (unscaled / power == doubles) & (np.abs(unscaled) < limit)
        halves = np.empty((len(column), 2), np.int64)
        halves[:, 0] = np.where(is_exact, unscaled, 0)
        halves[:, 1] = halves[:, 0] >> 63
        made = pa.Array.from_buffers(arrow, len(column), [None, pa.py_buffer(halves)], 0)
        if not is_exact.all():
            made = pc.if_else(pa.array(is_exact), made, pa.scalar(None, arrow))
        return made, rows_of(pc.and_not(column.is_valid(), pa.array(is_exact)))

    return convert


def _moments(arrow: pa.DataType) -> Leaf:
    """Return the conversion of milliseconds since 1970."""
    within = bounded((FIRST_MICRO // 1000, LAST_MICRO // 1000), pa.int64())

    def convert(column: pa.Array) -> tuple[pa.Array, Inexact]:
        millis, outside = within(column)
        return pc.multiply(millis, 1000).cast(arrow), outside

    return convert


def beyond(numbers: pa.Array, first: int, last: int) -> Inexact:
    """Return the rows of numbers that are not between two."""
    ends = pc.min_max(numbers).as_py()
    if ends["min"] is None or (ends["min"] >= first and ends["max"] <= last):
        return None
    return rows_of(pc.or_(pc.less(numbers, first), pc.greater(numbers, last)))


def either(first: Inexact, other: Inexact) -> Inexact:
    """Return the rows that one of two has."""
    if first is None or other is None:
        return other if first is None else first
    return first | other


def rows_of(found: pa.Array) -> Inexact:
    """Return the rows for which a condition holds."""
    rows = cast(
        "np.ndarray[Any, np.dtype[np.bool_]]", pc.fill_null(found, fill_value=False).to_numpy(zero_copy_only=False)
    )
    return rows if rows.any() else None
