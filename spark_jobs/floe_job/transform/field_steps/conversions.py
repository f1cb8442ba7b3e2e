"""Columns of fields that Cast, MaskField and TimestampConverter change, read in the type that they have before."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.types import (
    BooleanType,
    DateType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from floe.config.transforms.kafka.cast import Cast
from floe.config.transforms.kafka.mask_field import MaskField
from floe.config.transforms.kafka.timestamp_converter import DATE, STRING, TIME, TIMESTAMP, UNIX, TimestampConverter
from floe_job.exceptions import TransformRefused
from floe_job.transform.field_steps.demand import Demand, Demands, Mask, Op
from floe_job.transform.field_steps.fixed_dates import FixedDates
from floe_job.types.temporal import FIRST_MICRO, LAST_MICRO, MILLIS_PER_DAY

_BITS: Final = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
_SAMPLES: Final[dict[type[IcebergType], Any]] = {
    BooleanType: True,
    IntegerType: 1,
    LongType: 1,
    FloatType: 1.5,
    DoubleType: 1.5,
    StringType: "x",
}
_FIRST_MILLI, _LAST_MILLI = FIRST_MICRO // 1000, LAST_MICRO // 1000

# -- Cast -------------------------------------------------------------------------------------------------------------


def cast_fields(options: Cast, wanted: Demands) -> Demands | None:
    """Return what columns need before the transform: numbers that become other numbers, or texts."""
    demands: Demands | None = None if options.whole else wanted
    for name, kind in options.types:
        demands = None if demands is None else demands.changed(name, partial(_cast, kind))
    return demands


def _cast(kind: str, demand: Demand) -> Demand | None:
    target = demand.kind
    if kind in _BITS and isinstance(target, IntegerType | LongType):
        bits = min(_BITS[kind], 31 if isinstance(target, IntegerType) else 63)
        return demand.after(partial(_within, 1 << bits), LongType())
    if kind == "float64" and isinstance(target, DoubleType):
        return demand
    if kind == "string" and isinstance(target, StringType):
        return demand.after(lambda column: (column.cast(pa.large_string()), None), LongType())
    return None


def _within(limit: int, column: pa.Array) -> tuple[pa.Array, Mask | None]:
    if limit == 1 << 63:
        return column, None
    numbers = column.fill_null(0).to_numpy(zero_copy_only=False)
    bad = (numbers < -limit) | (numbers > limit - 1)
    return (pc.if_else(pa.array(bad), pa.scalar(None, column.type), column), bad) if bad.any() else (column, None)


# -- MaskField --------------------------------------------------------------------------------------------------------


def masked(options: MaskField, wanted: Demands, mask: Callable[[Any], Any]) -> Demands | None:
    """Return what columns need before the transform. ``mask``: masks one value; it raises TransformRefused."""
    demands: Demands | None = wanted
    for name in dict.fromkeys(options.fields):
        demands = None if demands is None else demands.changed(name, partial(_masked, mask))
    return demands


def _masked(mask: Callable[[Any], Any], demand: Demand) -> Demand | None:
    sample = _SAMPLES.get(type(demand.kind))
    if sample is None or isinstance(demand.kind, FloatType | DoubleType):
        return None  # a whole number is masked as one, and what is given for it may be none
    try:
        scalar = pa.scalar(mask(sample)).cast(schema_to_pyarrow(demand.kind))
    except (TransformRefused, pa.ArrowInvalid):  # the second: the column is too narrow for the replacement
        return None

    def op(column: pa.Array) -> tuple[pa.Array, Mask | None]:
        return pc.if_else(column.is_valid(), scalar, pa.scalar(None, column.type)), None

    return demand.after(op, demand.kind)


# -- TimestampConverter -----------------------------------------------------------------------------------------------


def converted(options: TimestampConverter, wanted: Demands, per_second: int) -> Demands | None:
    """Return what columns need before the transform: texts where there is a format, else numbers.

    ``per_second``: how many of the numbers are a second.
    """
    if not options.field:
        return None
    read = _reader(options, per_second)
    if read is None:
        return None

    def change(demand: Demand) -> Demand | None:
        make = _maker(options.target, demand.kind, per_second)
        if make is None:
            return None

        def op(column: pa.Array) -> tuple[pa.Array, Mask | None]:
            millis, bad = read(column)
            numbers = millis.fill_null(0).to_numpy(zero_copy_only=False)
            beyond = (numbers < _FIRST_MILLI) | (numbers > _LAST_MILLI)
            if beyond.any():
                bad = beyond if bad is None else bad | beyond
                numbers = np.where(beyond, 0, numbers)
            return make(pa.array(numbers, pa.int64(), mask=_nulls(millis))), bad

        return demand.after(op, StringType() if options.format and options.target != STRING else LongType())

    return wanted.changed(options.field, change)


def _reader(options: TimestampConverter, per_second: int) -> Op | None:
    """Return what makes milliseconds of a column."""
    if options.format and options.target != STRING:
        dates = FixedDates.of(options.format)
        return None if dates is None else dates.read
    return partial(_of_unix, per_second)


def _of_unix(per_second: int, column: pa.Array) -> tuple[pa.Array, Mask | None]:
    if per_second >= 1000:
        return pc.divide(column, per_second // 1000), None
    numbers = column.fill_null(0).to_numpy(zero_copy_only=False)
    beyond = np.abs(numbers) > _LAST_MILLI
    made = np.where(beyond, 0, numbers) * (1000 // per_second)
    return pa.array(made, pa.int64(), mask=_nulls(column)), beyond if beyond.any() else None


def _maker(target: str, kind: IcebergType, per_second: int) -> Callable[[pa.Array], pa.Array] | None:
    """Return what makes a column of a type of milliseconds; None where the exact way has to do that."""
    if target == UNIX and isinstance(kind, LongType) and per_second <= 1_000_000:
        if per_second >= 1000:
            return lambda millis: pc.multiply(millis, per_second // 1000)
        return lambda millis: pc.divide(millis, 1000 // per_second)
    if target == DATE and isinstance(kind, DateType):
        return lambda millis: _days(millis).cast(pa.int32()).cast(pa.date32())
    if not isinstance(kind, TimestampType | TimestamptzType):
        return None
    if target == TIMESTAMP:
        return _moments
    if target == DATE:
        return lambda millis: _moments(pc.multiply(_days(millis), MILLIS_PER_DAY))
    if target == TIME:
        return lambda millis: _moments(pc.subtract(millis, pc.multiply(_days(millis), MILLIS_PER_DAY)))
    return None


def _moments(millis: pa.Array) -> pa.Array:
    return pc.multiply(millis, 1000).cast(pa.timestamp("us"))


def _days(millis: pa.Array) -> pa.Array:
    numbers = millis.fill_null(0).to_numpy(zero_copy_only=False)
    return pa.array(numbers // MILLIS_PER_DAY, pa.int64(), mask=_nulls(millis))


def _nulls(column: pa.Array) -> Mask | None:
    return column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
