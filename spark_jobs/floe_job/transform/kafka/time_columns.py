"""Columns of times as milliseconds since 1970, and back. Nulls stay nulls; ArrowInvalid says that a value does not fit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floe.config.transforms.kafka.timestamp_converter import DATE, TIMESTAMP, UNIX
from floe_job.types.temporal import MILLIS_PER_DAY


def millis_of_column(column: pa.Array, source: str, per_second: int) -> pa.Array:
    """Return int64. ``per_second``: how many of the numbers are a second, where the source is numbers."""
    if source == UNIX:
        if per_second <= 1000:
            return pc.multiply_checked(column, 1000 // per_second)
        return pc.divide(column, per_second // 1000)
    if source == DATE:
        return pc.multiply(column.cast(pa.int32()).cast(pa.int64()), MILLIS_PER_DAY)
    return _floor(column.cast(pa.int64()), 1000)


def column_of_millis(millis: pa.Array, target: str, per_second: int) -> pa.Array:
    """Return a column in the Arrow type of the target, which is no text."""
    if target == UNIX:
        if per_second >= 1000:
            return pc.multiply_checked(millis, per_second // 1000)
        return pc.divide(millis, 1000 // per_second)
    if target == TIMESTAMP:
        return pc.multiply_checked(millis, 1000).cast(pa.timestamp("us", "UTC"))
    days = _floor(millis, MILLIS_PER_DAY)
    if target == DATE:
        return days.cast(pa.int32()).cast(pa.date32())
    rest = pc.subtract(millis, pc.multiply(days, MILLIS_PER_DAY))
    return pc.multiply(rest, 1000).cast(pa.time64("us"))


def _floor(numbers: pa.Array, by: int) -> pa.Array:
    filled = numbers.fill_null(0).to_numpy(zero_copy_only=False)
    mask = None if not numbers.null_count else numbers.is_null().to_numpy(zero_copy_only=False)
    return pa.array(np.floor_divide(filled, by), pa.int64(), mask=mask)
