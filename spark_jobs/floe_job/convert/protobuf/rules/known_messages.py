"""Well-known messages that mean one value: timestamps, dates, times of the day. Decimals are in ``decimals``.

A value that Java refuses rejects its message. Timestamps and times keep their microseconds, further digits are cut off:
Confluent's converter keeps milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from floe_job.convert.protobuf.rules.notes import Mask, Notes
from floe_job.convert.protobuf.rules.scalars import Convert
from floe_job.convert.typed.base import Places

Longs = np.ndarray[Any, np.dtype[np.int64]]

_FIRST_SECOND: Final = -62_135_596_800
_LAST_SECOND: Final = 253_402_300_799
_MICROS: Final = 1_000_000
_NANOS: Final = 1_000_000_000
_DAYS: Final = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], np.int64)


def timestamp(path: str) -> Convert:
    """Return the conversion of ``google.protobuf.Timestamp``."""

    def convert(column: pa.StructArray, owners: Places, notes: Notes) -> pa.Array:
        here, (seconds, nanos) = valid(column), parts_of(column, (0, 1))
        bad = (seconds < _FIRST_SECOND) | (seconds > _LAST_SECOND) | (nanos < 0) | (nanos >= _NANOS)
        reject(notes, owners, bad & here, path, lambda i: f"{seconds[i]} s and {nanos[i]} ns are no timestamp")
        seconds[bad] = nanos[bad] = 0
        micros = seconds * _MICROS + nanos // 1000
        return pa.array(micros, pa.int64(), mask=~here).cast(pa.timestamp("us", "UTC"))

    return convert


def day(path: str) -> Convert:
    """Return the conversion of ``google.type.Date``."""

    def convert(column: pa.StructArray, owners: Places, notes: Notes) -> pa.Array:
        here, (years, months, days) = valid(column), parts_of(column, (0, 1, 2))
        bad = (years < 1) | (years > 9999) | (months < 1) | (months > 12) | (days < 1)
        is_leap = (years % 4 == 0) & ((years % 100 != 0) | (years % 400 == 0))
        bad |= days > _DAYS[np.where(bad, 1, months) - 1] + (is_leap & (months == 2))
        reject(notes, owners, bad & here, path, lambda i: f"{years[i]}-{months[i]}-{days[i]} is no date")
        years[bad], months[bad], days[bad] = 1970, 1, 1
        since = ((years - 1970) * 12 + months - 1).astype("M8[M]").astype("M8[D]").astype(np.int64) + days - 1
        return pa.array(since.astype(np.int32), pa.int32(), mask=~here).cast(pa.date32())

    return convert


def time_of_day(path: str) -> Convert:
    """Return the conversion of ``google.type.TimeOfDay``."""

    def convert(column: pa.StructArray, owners: Places, notes: Notes) -> pa.Array:
        here, parts = valid(column), parts_of(column, (0, 1, 2, 3))
        bad = np.zeros(len(here), np.bool_)
        for part, end in zip(parts, (24, 60, 60, _NANOS), strict=True):
            bad |= (part < 0) | (part >= end)
        hours, minutes, seconds, nanos = parts
        reject(
            notes,
            owners,
            bad & here,
            path,
            lambda i: f"{hours[i]}:{minutes[i]}:{seconds[i]} and {nanos[i]} ns are no time of a day",
        )
        micros = ((hours * 60 + minutes) * 60 + seconds) * _MICROS + nanos // 1000
        micros[bad] = 0
        return pa.array(micros, pa.int64(), mask=~here).cast(pa.time64("us"))

    return convert


def parts_of(column: pa.StructArray, places: Sequence[int]) -> list[Longs]:
    """Return the numbers that messages consist of, absent ones as 0."""
    return [_longs(column.field(place)) for place in places]


def _longs(column: pa.Array) -> Longs:
    numbers = column.cast(pa.int64())
    found: Longs = np.array(numbers.fill_null(0) if numbers.null_count else numbers)
    return found


def valid(column: pa.Array) -> Mask:
    """Return which values are there."""
    found: Mask = column.is_valid().to_numpy(zero_copy_only=False)
    return found


def reject(notes: Notes, owners: Places, bad: Mask, path: str, why: Callable[[int], str]) -> None:
    """Note values that mean nothing, if there are any."""
    if bad.any():
        notes.reject(owners, bad, path, why)
