"""The values of literals with their Java classes, and what an array or a map makes of entries of several types."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np

from floe_job.connect import logical
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.types.numbers import Single
from floe_job.types.temporal import MILLIS_PER_DAY


class DataException(Exception):
    """A literal is no array or map after all; Connect takes it for a text then."""


@dataclass(frozen=True, slots=True)
class JavaDate:
    """A ``java.util.Date``: milliseconds since 1970."""

    millis: int


@dataclass(frozen=True, slots=True)
class Value:
    """A value and its schema, which says the Java class too. ``content``: a list has Values or None, a map a JavaMap."""

    schema: ConnectSchema
    content: Any


class JavaMap:
    """A ``LinkedHashMap``: 1 and 1.0 are two keys; of equal keys the first one stays, with the last value."""

    def __init__(self) -> None:
        self._entries: dict[Any, tuple[Value, Value | None]] = {}

    def put(self, key: Value, value: Value | None) -> None:
        """Add an entry, or replace its value."""
        identity = _identity(key)
        self._entries[identity] = (self._entries.get(identity, (key,))[0], value)

    def entries(self) -> list[tuple[Value, Value | None]]:
        """Return keys and values, in their order."""
        return list(self._entries.values())


def _identity(value: Value | None) -> Any:
    """Return what is equal for values that are equal to Java."""
    if value is None:
        return None
    content = value.content
    if isinstance(content, JavaMap):
        return "map", frozenset((_identity(key), _identity(inner)) for key, inner in content.entries())
    if isinstance(content, list):
        return "list", tuple(map(_identity, content))
    if isinstance(content, JavaDate):
        return "date", content.millis
    if isinstance(content, Decimal):
        return "decimal", content.as_tuple()
    if isinstance(content, float):
        return value.schema.kind, content.hex()
    return value.schema.kind, content


STRING: Final = ConnectSchema(Kind.STRING)
BOOLEAN: Final = ConnectSchema(Kind.BOOLEAN)
DECIMAL: Final = ConnectSchema(Kind.BYTES, name=logical.DECIMAL)
DATE: Final = ConnectSchema(Kind.INT32, name=logical.DATE)
TIME: Final = ConnectSchema(Kind.INT32, name=logical.TIME)
TIMESTAMP: Final = ConnectSchema(Kind.INT64, name=logical.TIMESTAMP)
FLOAT32: Final = ConnectSchema(Kind.FLOAT32)
FLOAT64: Final = ConnectSchema(Kind.FLOAT64)
_WHOLES: Final = (Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64)
_NUMBERS: Final = (*_WHOLES, Kind.FLOAT32, Kind.FLOAT64)
"""In the order in which one takes up the other."""


def whole(number: int) -> Value:
    """Return a whole number of 64 bits in the least type that holds it."""
    bits = next(bits for bits in (8, 16, 32, 64) if -(1 << bits - 1) <= number < 1 << bits - 1)
    return Value(ConnectSchema(Kind(f"int{bits}")), number)


class CommonSchema:
    """The schema that fits all entries; None before the first one, and where there is none."""

    def __init__(self) -> None:
        self.schema: ConnectSchema | None = None
        self._is_possible = True

    def merge(self, value: Value | None) -> None:
        """Take up an entry. Nulls do not count."""
        if value is None or not self._is_possible:
            return
        self.schema = value.schema if self.schema is None else _merged(self.schema, value.schema)
        self._is_possible = self.schema is not None


def _merged(known: ConnectSchema, new: ConnectSchema) -> ConnectSchema | None:
    if known.kind is new.kind:
        return new
    if known.kind not in _NUMBERS or new.kind not in _NUMBERS:
        return None
    return known if _NUMBERS.index(known.kind) > _NUMBERS.index(new.kind) else new


def aligned(value: Value | None, schema: ConnectSchema) -> Value:
    """Convert an entry to the common schema. Raises DataException."""
    if value is None:
        raise DataException
    kind, content = schema.kind, value.content
    if kind in (Kind.FLOAT32, Kind.FLOAT64):
        if isinstance(content, JavaDate):
            raise DataException
        number = float(content)
        return Value(schema, Single(np.float32(number)) if kind is Kind.FLOAT32 else number)
    if kind not in _WHOLES:
        return Value(schema, content)
    if schema.name is None:
        if isinstance(content, JavaDate):
            raise DataException
        return Value(schema, content)
    return Value(schema, content if isinstance(content, JavaDate) else _date(content, schema.name))


def _date(number: int, name: str) -> JavaDate:
    if name == logical.DATE:
        return JavaDate(number * MILLIS_PER_DAY)
    if name == logical.TIME and not 0 <= number <= MILLIS_PER_DAY:
        raise DataException
    return JavaDate(number)


_PAST_SINGLES: Final = Fraction(2**128)
"""Where the next float of 32 bits would be, after the largest."""


def nearest_single(number: Decimal) -> Single:
    """Return the float of 32 bits that is nearest: the nearest double may lie between two and hide which one it is."""
    double = float(number)
    with np.errstate(over="ignore", under="ignore"):
        single = np.float32(double)
    if not double or math.isinf(double):
        return Single(single)
    exact = Decimal(double)
    if number != exact:
        with np.errstate(over="ignore", under="ignore"):
            other = np.nextafter(single, np.float32(np.inf if number > exact else -np.inf))
        if _fraction(single) + _fraction(other) == 2 * Fraction(double):
            return Single(other)
    return Single(single)


def _fraction(single: np.float32) -> Fraction:
    return Fraction(float(single)) if np.isfinite(single) else _PAST_SINGLES * (1 if single > 0 else -1)


# Java's texts as bytes.


def utf8(text: str) -> bytes:
    """Encode a text as Java does: halves of a pair are one character, and a half alone is a question mark."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return paired.encode("utf-8", "replace")
