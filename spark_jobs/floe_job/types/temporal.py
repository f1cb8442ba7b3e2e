"""Values into columns of time: date, time, timestamp, timestamptz."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

from floe_job.types.coercion_error import refuse
from floe_job.types.numbers import whole

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
