"""Debezium's semantic types one by one, for the exact way; see ``floe_job.connect.debezium``."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from pyiceberg.types import TimestamptzType

from floe_job.connect import debezium
from floe_job.types.temporal import days_of_text, micros_of_text, micros_of_time_text
from floe_job.types.typed_values import Day, DayTime, Meant, Moment, ScaledNumber

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
