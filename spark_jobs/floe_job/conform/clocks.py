"""Values into columns of time: date, time, timestamp, timestamptz."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from floe_job.conform.moments import (
    FIRST_DAY,
    LAST_DAY,
    MILLIS_PER_DAY,
    days_of_text,
    micros_of_millis,
    micros_of_text,
    micros_of_time_text,
)
from floe_job.conform.quantities import whole
from floe_job.conform.refusal import refuse


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
