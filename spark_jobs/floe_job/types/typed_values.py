"""Values with a schema into the column types of an Iceberg table, one by one: what JSON has no type for.

Besides the values of JSON there are bytes, ``Decimal``, ``Day``, ``DayTime``, ``Moment``, ``Meant`` and ``ScaledNumber``. As
in the sink, a string column takes no bytes and no times, and a number column no times; but it gets the number of those
times that the sink takes for plain longs. What a conversion would lose is refused.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

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
from floe_job.types.java_text import json_text
from floe_job.types.numbers import Single, refuse
from floe_job.types.temporal import FIRST_MICRO, LAST_MICRO, MICROS_PER_DAY


@dataclass(frozen=True, slots=True)
class Day:
    """A date: days since 1970-01-01."""

    days: int


@dataclass(frozen=True, slots=True)
class DayTime:
    """A time of the day, in microseconds. ``raw``: what columns of numbers and texts get, if its schema is Avro's."""

    micros: int
    raw: int | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """A timestamp, in microseconds since 1970. ``raw``: what columns of numbers and texts get, if its schema is Avro's."""

    micros: int
    raw: int | None = None


TIMES = (DateType, TimeType, TimestampType, TimestamptzType)


@dataclass(frozen=True, slots=True)
class Meant:
    """A number or a text that means something else.

    ``columns``: the types of those that take the meaning; others take ``raw``. ``meaning``: None for a value that cannot be
    read, or not exactly; such columns refuse it.
    """

    raw: Any
    meaning: Day | DayTime | Moment | None
    columns: tuple[type[IcebergType], ...] = TIMES


class ScaledNumber(dict[str, Any]):
    """A struct that means a number: what is no struct column takes that. ``number``: None for one that cannot be read."""

    def __init__(self, fields: Mapping[str, Any], number: Decimal | None) -> None:
        super().__init__(fields)
        self.number = number

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(repr(self))  # it may be the key of a map


def typed_primitive(target: IcebergType) -> Converter:
    """Compile the converter of a primitive column. Raises UnsupportedColumn for types floe cannot write."""
    plain = primitive_converter(target)
    rules = _rules(target, plain)
    rules = {**rules, **_meant_rules(target, rules, plain)}
    takes_infinity = isinstance(target, FloatType | DoubleType)

    def convert(value: Any) -> Any:
        kind = type(value)
        if kind in rules:
            converted = rules[kind](value)
            if converted is None:
                raise refuse(value.raw if kind is Meant else value, target, shown=_shown(value))
            return converted
        if kind in _TYPED:
            raise refuse(value, target, shown=_shown(value))
        if takes_infinity and kind in _FLOATS and math.isinf(value):
            return value
        return plain(json_form(value) if isinstance(value, dict | list) else value)

    return convert


def json_form(value: Any) -> Any:
    """Return a value as JSON has it: bytes in base64, times as numbers, as Connect's JsonConverter writes them.

    What is no finite number is text, and so are the keys of a map.
    """
    if isinstance(value, dict):
        return {name if isinstance(name, str) else _key_text(name): json_form(entry) for name, entry in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return _not_finite(value)
    if isinstance(value, list):
        return [json_form(entry) for entry in value]
    if isinstance(value, Meant):
        return value.raw
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Day):
        return value.days
    if isinstance(value, DayTime | Moment):
        return value.micros // 1000 if value.raw is None else value.raw
    return value


def _key_text(key: Any) -> str:
    form = json_form(key)
    return form if isinstance(form, str) else json_text(form)


def _not_finite(value: float) -> str:
    """Return a number that is not finite as Java writes it."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


_TYPED = frozenset({bytes, Decimal, Day, DayTime, Moment})
_RAW: tuple[type, ...] = (DayTime, Moment)
_FLOATS: tuple[type, ...] = (float, Single)


def _shown(value: Any) -> str:
    """Return a value as an error names it; "" for one of JSON."""
    if isinstance(value, Day):
        return f"date {value.days} (days since 1970-01-01)"
    if isinstance(value, DayTime):
        return f"time {value.micros} (µs since midnight)"
    if isinstance(value, Moment):
        return f"timestamp {value.micros} (µs since 1970-01-01)"
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return f"decimal {value}" if isinstance(value, Decimal) else ""


def _meant_rules(target: IcebergType, rules: _Rules, plain: Converter) -> _Rules:
    """Return the conversions of values that mean something; a result of None means that the value is refused."""

    def meant(value: Meant) -> Any:
        if not isinstance(target, value.columns):
            return plain(value.raw)
        rule = rules.get(type(value.meaning))
        return None if rule is None else rule(value.meaning)

    def number(value: ScaledNumber) -> Any:
        if value.number is None or Decimal not in rules or isinstance(target, TIMES):
            return None
        return format(value.number, "f") if isinstance(target, StringType) else rules[Decimal](value.number)

    return {Meant: meant, ScaledNumber: number}


_Rules = Mapping[type, Callable[[Any], Any]]


def _rules(target: IcebergType, plain: Converter) -> _Rules:
    """Return the conversions of typed values into a column; a result of None means that the value is refused."""
    if isinstance(target, BinaryType):
        return {bytes: lambda value: value}
    if isinstance(target, FixedType):
        return {bytes: lambda value: value if len(value) == len(target) else None}
    if isinstance(target, TIMES):
        return _time_rules(target, plain)
    raw: dict[type, Callable[[Any], Any]] = dict.fromkeys(_RAW, lambda value: _number(value, plain))
    if isinstance(target, IntegerType | LongType):
        return {**raw, Decimal: lambda value: _whole(value, plain)}
    if isinstance(target, FloatType | DoubleType | DecimalType):
        return {**raw, Decimal: lambda value: plain(format(value, "f"))}
    if isinstance(target, StringType):
        texts = dict.fromkeys(_FLOATS, lambda value: plain(value) if math.isfinite(value) else _not_finite(value))
        return {**raw, Decimal: str, **texts}
    return {}


def _time_rules(target: IcebergType, plain: Converter) -> _Rules:
    """Return the conversions into a column of time; decimals are the numbers that they are."""
    if isinstance(target, DateType):
        return {
            Day: lambda value: plain(value.days),
            Moment: lambda value: _days(value.micros, plain),
            Decimal: lambda value: _whole(value, plain),
        }
    if isinstance(target, TimeType):
        return {
            DayTime: lambda value: value.micros if 0 <= value.micros < MICROS_PER_DAY else None,
            Decimal: lambda value: _whole(value, plain),
        }
    return {
        Moment: lambda value: _moment(value.micros),
        Day: lambda value: _moment(value.days * MICROS_PER_DAY),
        Decimal: _moment_of_millis,
    }


def _number(value: DayTime | Moment, plain: Converter) -> Any:
    return None if value.raw is None else plain(value.raw)


def _whole(value: Decimal, plain: Converter) -> Any:
    return plain(int(value)) if value == value.to_integral_value() else None


def _moment_of_millis(value: Decimal) -> int | None:
    micros = Fraction(value) * 1000
    return _moment(int(micros)) if micros.denominator == 1 else None


def _days(micros: int, plain: Converter) -> Any:
    return None if micros % MICROS_PER_DAY else plain(micros // MICROS_PER_DAY)


def _moment(micros: int) -> int | None:
    return micros if FIRST_MICRO <= micros <= LAST_MICRO else None


# Values without a schema that transforms made: besides those of JSON there are moments, bytes and decimals.
#
# They go into columns as the sink's ``RecordConverter`` takes ``java.util.Date``, ``byte[]`` and ``BigDecimal``. A
# moment is for a time of the day too: without a schema, Java has one class for all times.


MADE: Final[frozenset[type]] = frozenset({Moment, bytes, Decimal})
"""The types of these values."""


def made_primitive(target: IcebergType) -> Converter:
    """Compile the converter of a primitive column. Raises UnsupportedColumn for types floe cannot write."""
    convert = typed_primitive(target)
    if not isinstance(target, TimeType):
        return convert

    def convert_time(value: Any) -> Any:
        is_time = type(value) is Moment and 0 <= value.micros < MICROS_PER_DAY
        return convert(DayTime(value.micros) if is_time else value)

    return convert_time


def kind_of_made(value: Any) -> str | None:
    """Return the column type that a value proposes, as the sink infers it; None for one that no transform made."""
    kind = type(value)
    if kind is Moment:
        return "timestamptz"
    if kind is bytes:
        return "binary"
    if kind is Decimal and value.is_finite():
        _, digits, exponent = value.as_tuple()
        scale = max(0, -int(exponent))
        whole = max(1, len(digits) + int(exponent))
        return f"decimal({min(38, whole + scale)}, {min(38, scale)})"
    return None
