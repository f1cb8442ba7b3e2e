"""Values into columns of time: date, time, timestamp, timestamptz."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.types import DateType, IcebergType, TimestampType, TimestamptzType

from floe_job.types.numbers import refuse, whole

MICROS_PER_SECOND = 1_000_000
MICROS_PER_DAY = 86_400 * MICROS_PER_SECOND
MILLIS_PER_DAY = 86_400_000

EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
FIRST_DAY = date.min.toordinal() - EPOCH_ORDINAL
LAST_DAY = date.max.toordinal() - EPOCH_ORDINAL
FIRST_MICRO = FIRST_DAY * MICROS_PER_DAY
LAST_MICRO = (LAST_DAY + 1) * MICROS_PER_DAY - 1

_MAX_OFFSET_LENGTH = 18 * 3600

_DATE = r"(\d{4})-(\d{2})-(\d{2})"
_TIME = r"(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?"
_ZONE = r"([Zz]|[+-]\d{2}(?::?\d{2})?)?"
_ISO_DATE = re.compile(_DATE, re.ASCII)
_ISO_TIME = re.compile(_TIME, re.ASCII)
_ISO_TIMESTAMP = re.compile(rf"{_DATE}(?:[Tt ]{_TIME}{_ZONE})?", re.ASCII)


def days_of_text(text: str) -> int | None:
    """Read ``yyyy-MM-dd`` as days since the epoch; None if it is no such date."""
    found = _ISO_DATE.fullmatch(text)
    return _days(*found.groups()) if found else None


def micros_of_time_text(text: str) -> int | None:
    """Read ``HH:mm[:ss[.fraction]]`` as microseconds since midnight, further digits cut off."""
    found = _ISO_TIME.fullmatch(text)
    return _micros(*found.groups()) if found else None


def micros_of_text(text: str, *, apply_zone: bool) -> int | None:
    """Read a date or date-time, 'T' or blank between, as microseconds since the epoch, further digits cut off.

    No zone means UTC. A zone is applied (timestamptz), or read and dropped (timestamp).
    """
    found = _ISO_TIMESTAMP.fullmatch(text)
    if not found:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    days = _days(year, month, day)
    micros = 0 if hour is None else _micros(hour, minute, second, fraction)
    offset = _offset(zone)
    if days is None or micros is None or offset is None:
        return None
    moment = days * MICROS_PER_DAY + micros - (offset * MICROS_PER_SECOND if apply_zone else 0)
    return moment if FIRST_MICRO <= moment <= LAST_MICRO else None


def micros_of_millis(millis: float) -> int | None:
    """Turn epoch milliseconds into microseconds; None beyond the years, or where digits would be lost."""
    if isinstance(millis, float):
        exact = Decimal(float.__repr__(millis)) * 1000
        micros = int(exact) if exact.is_finite() and abs(exact) <= LAST_MICRO * 2 else LAST_MICRO + 1
        if micros != exact:
            return None
    else:
        micros = millis * 1000
    return micros if FIRST_MICRO <= micros <= LAST_MICRO else None


def _days(year: str, month: str, day: str) -> int | None:
    try:
        return date(int(year), int(month), int(day)).toordinal() - EPOCH_ORDINAL
    except ValueError:
        return None


def _micros(hour: str, minute: str, second: str | None, fraction: str | None) -> int | None:
    hours, minutes, seconds = int(hour), int(minute), int(second or 0)
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    return ((hours * 60 + minutes) * 60 + seconds) * MICROS_PER_SECOND + int((fraction or "0")[:6].ljust(6, "0"))


def _offset(zone: str | None) -> int | None:
    """Return seconds east of UTC; None if the offset is not valid (Java's limit is 18 hours)."""
    if zone is None or zone in "Zz":
        return 0
    minutes = int(zone[-2:]) if len(zone) > 3 else 0
    seconds = int(zone[1:3]) * 3600 + minutes * 60
    if minutes > 59 or seconds > _MAX_OFFSET_LENGTH:
        return None
    return -seconds if zone[0] == "-" else seconds


def date_column(value: Any) -> int:
    """Take ``yyyy-MM-dd`` and epoch days."""
    if not isinstance(value, str):
        return whole(value, "date", (FIRST_DAY, LAST_DAY))
    days = days_of_text(value)
    if days is None:
        raise refuse(value, "date")
    return days


def time_column(value: Any) -> int:
    """Take ISO local time, and milliseconds of the day."""
    if not isinstance(value, str):
        return whole(value, "time", (0, MILLIS_PER_DAY - 1)) * 1000
    micros = micros_of_time_text(value)
    if micros is None:
        raise refuse(value, "time")
    return micros


def _moment_column(target: str, *, apply_zone: bool) -> Callable[[Any], int]:
    """Take ISO date-times, dates, and epoch milliseconds."""

    def convert(value: Any) -> int:
        if isinstance(value, str):
            micros = micros_of_text(value, apply_zone=apply_zone)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            raise refuse(value, target)
        else:
            micros = micros_of_millis(value)
        if micros is None:
            raise refuse(value, target)
        return micros

    return convert


timestamp_column = _moment_column("timestamp", apply_zone=False)
timestamptz_column = _moment_column("timestamptz", apply_zone=True)


# Columns of ISO texts into columns of time, without a Python object for a value.
#
# Texts of another form, or of a day that there is not, are left to the converters of ``floe_job.types.temporal``.


Rows = np.ndarray[Any, np.dtype[np.bool_]]

TIMES: Final = (DateType, TimestampType, TimestamptzType)
"""The columns that texts are converted into here."""

_DATE_FORM: Final = r"\d{4}-\d{2}-\d{2}"
_LOCAL: Final = rf"{_DATE_FORM}[T ]\d{{2}}:\d{{2}}:\d{{2}}(?:\.\d{{1,6}})?Z?"
_ZONED: Final = rf"{_DATE_FORM}[T ]\d{{2}}:\d{{2}}:\d{{2}}(?:\.\d{{1,6}})?[+-](?:0\d|1[0-7]):?[0-5]\d"
_IS_ZONED: Final = re.compile(_ZONED, re.ASCII)


def times_of_texts(texts: pa.Array, target: IcebergType, arrow: pa.DataType) -> tuple[pa.Array, Rows | None]:
    """Convert texts (large_string) into a column of one of TIMES.

    Returns the column, and the rows that are left out, null in the column; None for no such rows. Of texts with an offset
    and texts without, those are converted that have the form of the first.
    """
    form = _form(texts, target)
    left_out = _rows(pc.invert(pc.match_substring_regex(texts, rf"\A(?:{form})\z")))
    try:
        made = _cast(_without(texts, left_out), form, arrow)
    except pa.ArrowInvalid:  # the 31st of February
        return pa.nulls(len(texts), arrow), _rows(texts.is_valid())
    integers, first, last = (
        (pa.int32(), FIRST_DAY, LAST_DAY) if form is _DATE_FORM else (pa.int64(), FIRST_MICRO, LAST_MICRO)
    )
    numbers = made.view(integers)
    beyond = _rows(pc.or_(pc.less(numbers, first), pc.greater(numbers, last)))
    if beyond is None:
        return made, left_out
    return _without(made, beyond), beyond if left_out is None else beyond | left_out


def _form(texts: pa.Array, target: IcebergType) -> str:
    if isinstance(target, DateType):
        return _DATE_FORM
    place = pc.index(texts.is_valid(), True).as_py() if isinstance(target, TimestamptzType) else -1
    return _ZONED if place >= 0 and _IS_ZONED.fullmatch(texts[place].as_py()) else _LOCAL


def _cast(texts: pa.Array, form: str, arrow: pa.DataType) -> pa.Array:
    if form is not _LOCAL:
        return texts.cast(arrow)
    return pc.utf8_rtrim(texts, "Z").cast(pa.timestamp("us")).cast(arrow)


def _rows(found: pa.Array) -> Rows | None:
    if not found.true_count:
        return None
    rows: Rows = pc.fill_null(found, fill_value=False).to_numpy(zero_copy_only=False)
    return rows


def _without(column: pa.Array, rows: Rows | None) -> pa.Array:
    return column if rows is None else pc.if_else(pa.array(rows), pa.scalar(None, column.type), column)
