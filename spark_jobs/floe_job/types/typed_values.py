"""Values with a schema into the column types of an Iceberg table, one by one: what JSON has no type for.

Besides the values of JSON there are bytes, ``Decimal``, ``Day``, ``DayTime`` and ``Moment``. As in the sink, a string
column takes no bytes and no times, and a number column no times. What a conversion would lose is refused.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
)

from floe_job.types.coercion import Converter, primitive_converter
from floe_job.types.coercion_error import refuse
from floe_job.types.temporal import FIRST_MICRO, LAST_MICRO, MICROS_PER_DAY


@dataclass(frozen=True, slots=True)
class Day:
    """A date: days since 1970-01-01."""

    days: int


@dataclass(frozen=True, slots=True)
class DayTime:
    """A time of the day, in microseconds. ``raw``: the number that a long column gets, if its schema is Avro's."""

    micros: int
    raw: int | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """A timestamp, in microseconds since 1970. ``raw``: the number that a long column gets, if its schema is Avro's."""

    micros: int
    raw: int | None = None


def typed_primitive(target: IcebergType) -> Converter:
    """Compile the converter of a primitive column. Raises UnsupportedColumn for types floe cannot write."""
    plain = primitive_converter(target)
    rules = _rules(target, plain)
    takes_infinity = isinstance(target, FloatType | DoubleType)

    def convert(value: Any) -> Any:
        kind = type(value)
        if kind in rules:
            converted = rules[kind](value)
            if converted is None:
                raise refuse(value, target)
            return converted
        if kind in _TYPED:
            raise refuse(value, target)
        if takes_infinity and kind is float and math.isinf(value):
            return value
        return plain(json_form(value) if kind in (dict, list) else value)

    return convert


def json_form(value: Any) -> Any:
    """Return a value as JSON has it: bytes in base64, times as numbers, as Connect's JsonConverter writes them."""
    if isinstance(value, dict):
        return {name: json_form(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [json_form(entry) for entry in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Day):
        return value.days
    if isinstance(value, DayTime | Moment):
        return value.micros // 1000 if value.raw is None else value.raw
    return value


_TYPED = frozenset({bytes, Decimal, Day, DayTime, Moment})
_Rules = Mapping[type, Callable[[Any], Any]]


def _rules(target: IcebergType, plain: Converter) -> _Rules:
    """Return the conversions of typed values into a column; a result of None means that the value is refused."""
    if isinstance(target, BinaryType):
        return {bytes: lambda value: value}
    if isinstance(target, FixedType):
        return {bytes: lambda value: value if len(value) == len(target) else None}
    if isinstance(target, DateType):
        return {Day: lambda value: plain(value.days), Moment: lambda value: _days(value.micros, plain)}
    if isinstance(target, TimeType):
        return {DayTime: lambda value: value.micros if 0 <= value.micros < MICROS_PER_DAY else None}
    if isinstance(target, TimestampType | TimestamptzType):
        return {Moment: lambda value: _moment(value.micros), Day: lambda value: _moment(value.days * MICROS_PER_DAY)}
    numbers: dict[type, Callable[[Any], Any]] = {}
    if isinstance(target, LongType):
        numbers = {DayTime: lambda value: value.raw, Moment: lambda value: value.raw}
    if isinstance(target, IntegerType | LongType):
        return {**numbers, Decimal: lambda value: plain(int(value)) if value == value.to_integral_value() else None}
    if isinstance(target, FloatType | DoubleType | DecimalType):
        return {Decimal: lambda value: plain(format(value, "f"))}
    return {Decimal: str} if isinstance(target, StringType) else {}


def _days(micros: int, plain: Converter) -> Any:
    return None if micros % MICROS_PER_DAY else plain(micros // MICROS_PER_DAY)


def _moment(micros: int) -> int | None:
    return micros if FIRST_MICRO <= micros <= LAST_MICRO else None
