"""Values of a payload one by one: from what JSON has to what Arrow takes for the type of their schema.

As Kafka's JsonConverter reads them, without what that loses silently: 1.5 is no int32, and 5000000000 neither. Dates are
days, times and timestamps microseconds, maps lists of pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation
from typing import Any, Final, cast

import pyarrow as pa

from floe_job.connect import logical
from floe_job.connect.arrow import MAX_DIGITS, is_decimal, scale_of
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.typed.base64_text import decode_text
from floe_job.exceptions import VALUE_LENGTH, clip
from floe_job.types.numbers import HugeInteger, Literal

Read = Callable[[Any], Any]

MAX_MILLIS: Final = ((1 << 63) - 1) // 1000
"""The latest timestamp, and the negative of the first, that fits into 64 bits of microseconds."""

DAY_MILLIS: Final = 86_400_000

_BITS: Final = {Kind.INT8: 7, Kind.INT16: 15, Kind.INT32: 31, Kind.INT64: 63}
_NOT_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""How JsonConverter writes them."""
_EXACT: Final = Context(prec=2 * MAX_DIGITS + 2, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact, InvalidOperation])
_JSON: Final[dict[type, str]] = {
    str: "a text",
    bool: "a boolean",
    dict: "an object",
    list: "an array",
    type(None): "null",
}


class Misfit(ValueError):
    """A value that does not fit its schema. ``path``: of the field, outermost last."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.path: tuple[str, ...] = ()

    def inside(self, name: str) -> Misfit:
        """Add the name of a field, outermost last; returns itself to be raised again."""
        self.path = (name, *self.path)
        return self

    def __str__(self) -> str:
        where = f"field {clip('.'.join(self.path), VALUE_LENGTH)!r}" if self.path else "the value"
        return f"{where}: {super().__str__()}"


def value_reader(schema: ConnectSchema, *, fill_defaults: bool) -> Read:
    """Compile the reading of values of a schema, which raises Misfit. Raises ValueError for a decimal of no scale."""
    read = _reader(schema, fill_defaults)
    default = schema.default if fill_defaults and schema.has_default else None
    is_optional = schema.optional

    def read_or_null(value: Any) -> Any:
        if value is not None:
            return read(value)
        if default is not None or is_optional:
            return default
        problem = "it is null or not there, and its schema says that it is required"
        raise Misfit(problem)

    return read_or_null


def _reader(schema: ConnectSchema, fill: bool) -> Read:
    if is_decimal(schema):
        return _decimals(scale_of(schema))
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name]
    if schema.kind in _BITS:
        return _whole(schema.kind)
    if schema.kind is Kind.ARRAY:
        return _array(value_reader(cast(ConnectSchema, schema.element), fill_defaults=fill))
    if schema.kind is Kind.MAP:
        return _map(schema, fill)
    if schema.kind is Kind.STRUCT:
        return _struct(schema, fill)
    return _PLAIN[schema.kind]


def _not(value: Any, wanted: str) -> Misfit:
    if isinstance(value, int | float | HugeInteger) and not isinstance(value, bool):
        shown = value.token if isinstance(value, Literal) else repr(value)
        return Misfit(f"it is {clip(shown, VALUE_LENGTH)}, which is not {wanted}")
    if isinstance(value, str):
        return Misfit(f"it is the text {clip(value, VALUE_LENGTH)!r}, and not {wanted}")
    return Misfit(f"it is {_JSON.get(type(value), 'a value')}, and not {wanted}")


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise _not(value, "a boolean")


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise _not(value, "a string")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            problem = "it is a text with half of a surrogate pair in it"
            raise Misfit(problem) from None
    return value


def _bytes(value: Any) -> bytes:
    found = decode_text(value) if isinstance(value, str) else None
    if found is None:
        raise _not(value, "bytes in base64")
    return found


def _whole(kind: Kind) -> Read:
    limit, wanted = 1 << _BITS[kind], f"an {kind.value}"

    def read(value: Any) -> int:
        number = value
        if type(value) is Literal:
            exact = Decimal(value.token)
            number = int(exact) if exact.adjusted() < MAX_DIGITS and exact == exact.to_integral_value() else None
        if type(number) is not int or not -limit <= number < limit:
            raise _not(value, wanted)
        return number

    return read


def _double(value: Any) -> float:
    if type(value) in (int, Literal):
        try:
            found = float(value)
        except OverflowError:
            found = math.inf
        if math.isfinite(found):
            return found + 0.0
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    raise _not(value, "a double")


def _float(value: Any) -> float:
    """Round a number once, as Java does, and not by way of a double."""
    if type(value) in (int, Literal):
        token = value.token if type(value) is Literal else str(value) if abs(value) < 1 << 128 else "1e99"
        found: float = pa.scalar(token, pa.string()).cast(pa.float32()).as_py()
        if math.isfinite(found):
            return found + 0.0
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    raise _not(value, "a float")


def _decimals(scale: int) -> Read:
    unit, wanted = (
        Decimal((0, (1,), -scale)),
        f"a decimal of up to {MAX_DIGITS} digits, {scale} of them after the point",
    )

    def read(value: Any) -> Decimal:
        if isinstance(value, str):
            unscaled = int.from_bytes(_bytes(value) or b"", "big", signed=True)
            if not value or abs(unscaled) >= 10**MAX_DIGITS:
                raise _not(value, f"the bytes of {wanted}")
            return Decimal(unscaled).scaleb(-scale, _EXACT)
        if type(value) not in (int, Literal):
            raise _not(value, wanted)
        number = Decimal(value.token if type(value) is Literal else value)
        try:
            if not number or number.adjusted() < MAX_DIGITS - scale:
                return number.quantize(unit, context=_EXACT)
        except (Inexact, InvalidOperation):
            pass
        raise _not(value, wanted)

    return read


def _date(value: Any) -> int:
    if type(value) is not int or not -(1 << 31) <= value < 1 << 31:
        raise _not(value, "a number of days")
    return value


def _time(value: Any) -> int:
    if type(value) is not int or not 0 <= value < DAY_MILLIS:
        raise _not(value, "a time of a day in ms")
    return value * 1000


def _timestamp(value: Any) -> int:
    if type(value) is not int or abs(value) > MAX_MILLIS:
        raise _not(value, "a timestamp in ms that a table's column can hold")
    return value * 1000


def _within(read: Read, name: str) -> Read:
    """Return a reading whose errors name where in an array or a map the value is."""

    def read_within(value: Any) -> Any:
        try:
            return read(value)
        except Misfit as misfit:
            raise misfit.inside(name) from None

    return read_within


def _array(element: Read) -> Read:
    read_element = _within(element, "element")

    def read(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise _not(value, "an array")
        return [read_element(one) for one in value]

    return read


def _map(schema: ConnectSchema, fill: bool) -> Read:
    key, entry = cast(ConnectSchema, schema.key), cast(ConnectSchema, schema.element)
    is_object = key.kind is Kind.STRING
    read_key = _within(_string if is_object else value_reader(key, fill_defaults=fill), "key")
    read_entry = _within(value_reader(entry, fill_defaults=fill), "value")
    pairs = _members if is_object else _pairs

    def read(value: Any) -> list[tuple[Any, Any]]:
        found: dict[Any, Any] = {}
        for given, one in pairs(value):
            name = read_key(given)
            if name is None:
                problem = "it has a key that is null"
                raise Misfit(problem)
            found.pop(name, None)  # of a key that is there twice the last value counts
            found[name] = read_entry(one)
        return list(found.items())

    return read


def _members(value: Any) -> Iterable[tuple[Any, Any]]:
    if not isinstance(value, dict):
        raise _not(value, "an object, as maps whose keys are texts are written")
    return value.items()


def _pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    if not isinstance(value, list) or not all(isinstance(one, list) and len(one) == 2 for one in value):
        raise _not(value, "an array of pairs, as maps whose keys are no texts are written")
    return value


def _struct(schema: ConnectSchema, fill: bool) -> Read:
    fields = [(name, value_reader(inner, fill_defaults=fill)) for name, inner in schema.fields]
    names = frozenset(name for name, _ in fields)

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _not(value, "an object, as structs are written")
        if not value.keys() <= names:
            unknown = next((name for name, entry in value.items() if name not in names and entry is not None), None)
            if unknown is not None:
                why = "it has a value, and the schema has no such field, so that no column would get it"
                raise Misfit(why).inside(unknown)
        found = {}
        for name, read_field in fields:
            try:
                found[name] = read_field(value.get(name))
            except Misfit as misfit:
                raise misfit.inside(name) from None
        return found

    return read


_LOGICAL: Final[dict[str | None, Read]] = {
    logical.DATE: _date,
    logical.TIME: _time,
    logical.TIMESTAMP: _timestamp,
}
_PLAIN: Final[dict[Kind, Read]] = {
    Kind.BOOLEAN: _boolean,
    Kind.STRING: _string,
    Kind.BYTES: _bytes,
    Kind.FLOAT32: _float,
    Kind.FLOAT64: _double,
}
