"""The exact way: values that are parsed already, one by one, into the types of ``floe_job.convert.typed_json.carried_types``.

A value must be what its schema says: no text is taken for a number. Of a number, 2.0 is a whole one.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, cast

from floe_job.connect.arrow import MAX_DIGITS, is_decimal, scale_of
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.typed.base64_text import decode_text
from floe_job.convert.typed_json.carried_types import DecimalForm, JsonForms, carried_value
from floe_job.exceptions import VALUE_LENGTH, Malformed, Unconvertible, clip
from floe_job.types.numbers import INT_RANGE, LONG_RANGE, Literal, decimal_of_text, refuse, whole

KEY: Final = "key"
VALUE: Final = "value"


@dataclass(frozen=True)
class JsonValues:
    """Compiles the readers of values."""

    forms: JsonForms
    decimals: DecimalForm = DecimalForm.TEXT

    def reader(self, schema: ConnectSchema) -> Read:
        """Return the reader of whole values. It raises Malformed."""
        read = self._nullable(schema)

        def read_whole(value: Any) -> Any:
            try:
                return read(value)
            except Unconvertible as error:
                raise Malformed(placed(".".join(error.path), error.problem)) from None

        return read_whole

    def _nullable(self, schema: ConnectSchema) -> Read:
        read, takes_null = self._present(schema), schema.optional

        def read_nullable(value: Any) -> Any:
            if value is not None:
                return read(value)
            if not takes_null:
                problem = "it is null, and its schema requires a value"
                raise Unconvertible(problem)
            return None

        return read_nullable

    def _present(self, schema: ConnectSchema) -> Read:
        if schema.kind is Kind.STRUCT:
            return self._union(schema) if schema.name == self.forms.union else self._struct(schema)
        if schema.kind is Kind.ARRAY:
            return self._array(schema)
        if schema.kind is Kind.MAP:
            return self._map(schema)
        if is_decimal(schema):
            return decimal_reader(schema, self.decimals)
        return SCALARS[schema.kind]

    def _struct(self, schema: ConnectSchema) -> Read:
        fields = {name: self._nullable(inner) for name, inner in schema.fields}
        defaults = {
            name: carried_value(inner, inner.default, self.decimals)
            for name, inner in schema.fields
            if has_default(inner)
        }
        required = [
            name
            for name, inner in schema.fields
            if not self.forms.absent_is_null and not inner.optional and name not in defaults
        ]

        def read(value: Any) -> dict[str, Any]:
            if type(value) is not dict:
                raise refuse(value, "struct")
            found = {name: _inside(name, fields[name], value[name]) for name in value if name in fields}
            if len(found) < len(value):
                unknown = next((name for name in value if name not in fields and value[name] is not None), None)
                if unknown is not None:
                    problem = "it has a value, and its schema has no such property, so that no column would get it"
                    raise Unconvertible(problem).inside(unknown)
            for name in required:
                if name not in found:
                    problem = "it is not there, and its schema requires a value"
                    raise Unconvertible(problem).inside(name)
            return {**defaults, **found}

        return read

    def _array(self, schema: ConnectSchema) -> Read:
        element = self._nullable(cast(ConnectSchema, schema.element))

        def read(value: Any) -> list[Any]:
            if type(value) is not list:
                raise refuse(value, "array")
            return [_inside("element", element, entry) for entry in value]

        return read

    def _map(self, schema: ConnectSchema) -> Read:
        key_schema = cast(ConnectSchema, schema.key)
        key, element = self._nullable(key_schema), self._nullable(cast(ConnectSchema, schema.element))
        if key_schema.kind is Kind.STRING and not key_schema.optional:

            def read_object(value: Any) -> list[tuple[str, Any]]:
                if type(value) is not dict:
                    raise refuse(value, "map")
                return [(_inside(KEY, key, name), _inside(name, element, entry)) for name, entry in value.items()]

            return read_object
        pair = _pair_of_object if self.forms.entries_are_objects else _pair_of_array

        def read_entries(value: Any) -> list[tuple[Any, Any]]:
            if type(value) is not list:
                raise refuse(value, "map")
            pairs = (pair(entry) for entry in value)
            found = {_inside(KEY, key, name): _inside(VALUE, element, entry) for name, entry in pairs}
            if None in found:
                problem = "it has a key that is null"
                raise Unconvertible(problem)
            return list(found.items())

        return read_entries

    def _union(self, schema: ConnectSchema) -> Read:
        """Make the reader of unions: the branch is the first that a simple value is of, or has most of an object's fields."""
        branches = [
            Branch(name, inner, self._present(inner), inner.name == self.forms.union) for name, inner in schema.fields
        ]

        def read(value: Any) -> dict[str, Any]:
            fitting = [(branch.fits(value), -place) for place, branch in enumerate(branches)]
            best, place = max(fitting, default=(NOT, 0))
            if best is NOT:
                raise refuse(value, "union", "it is of none of its types")
            chosen = branches[-place]
            return {chosen.name: _inside(chosen.name, chosen.read, value)}

        return read


def has_default(schema: ConnectSchema) -> bool:
    """Return whether a field that is not there has a default. A null that was sent has none."""
    return schema.has_default and schema.default is not None


def placed(path: str, problem: str) -> str:
    """Return a problem with the field that has it."""
    return f"field {clip(path, VALUE_LENGTH)!r}: {problem}" if path else f"the value: {problem}"


def _inside(name: str, read: Read, value: Any) -> Any:
    try:
        return read(value)
    except Unconvertible as error:
        raise error.inside(name) from None


def _pair_of_object(entry: Any) -> tuple[Any, Any]:
    if type(entry) is not dict or entry.keys() != {KEY, VALUE}:
        raise refuse(entry, "map", "an entry must be an object of key and value")
    return entry[KEY], entry[VALUE]


def _pair_of_array(entry: Any) -> tuple[Any, Any]:
    if type(entry) is not list or len(entry) != 2:
        raise refuse(entry, "map", "an entry must be an array of key and value")
    return entry[0], entry[1]


# Single values of JSON, one by one, into the types of ``floe_job.convert.typed_json.carried_types``.


Read = Callable[[Any], Any]
"""Reads a value that is not null. Raises Unconvertible."""


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise refuse(value, "boolean")
    return value


def _double(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refuse(value, "number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise refuse(value, "number", "too large")
    return number


def _string(value: Any) -> str:
    if type(value) is not str:
        raise refuse(value, "string")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            problem = "it is a string with half of a surrogate pair in it"
            raise Unconvertible(problem) from None
    return value


def _whole(name: str, limits: tuple[int, int]) -> Read:
    def read(value: Any) -> int:
        if isinstance(value, Literal):
            number = decimal_of_text(value.token)
            if number is not None and number.adjusted() < MAX_DIGITS and number == number.to_integral_value():
                value = int(number)
        return whole(value, name, limits)

    return read


def _unscaled(text: str, scale: int) -> int:
    found = decode_text(text)
    if not found:
        raise refuse(text, f"decimal of scale {scale}", "it is not standard base64 of a byte or more")
    unscaled = int.from_bytes(found, signed=True)
    if abs(unscaled) >= 10**MAX_DIGITS:
        raise refuse(text, f"decimal of scale {scale}", "too large")
    return unscaled


def decimal_reader(schema: ConnectSchema, form: DecimalForm) -> Read:
    scale = scale_of(schema)

    def read_number(value: Any) -> Decimal:
        number = decimal_of_text(value.token if isinstance(value, Literal) else str(value))
        if isinstance(value, bool) or number is None:
            raise refuse(value, f"decimal of scale {scale}")
        # the exponent is bounded before anything is made of as many digits
        if number and not -scale <= number.adjusted() < MAX_DIGITS - scale:
            too = "too large" if number.adjusted() > 0 else "its fraction would be lost"
            raise refuse(value, f"decimal of scale {scale}", too)
        unscaled = number.scaleb(scale) if number else Decimal(0)
        if unscaled != unscaled.to_integral_value():
            raise refuse(value, f"decimal of scale {scale}", "its fraction would be lost")
        return number

    def read_text(value: Any) -> str:
        if type(value) is str:
            return _string(value)
        unscaled = int(read_number(value).scaleb(scale))
        return base64.b64encode(unscaled.to_bytes(17, signed=True)).decode()

    def read_decimal(value: Any) -> Decimal:
        if type(value) is not str:
            return read_number(value)
        return Decimal(_unscaled(value, scale)).scaleb(-scale)

    return read_text if form is DecimalForm.TEXT else read_decimal


WHOLE: Final = {
    Kind.INT8: (-128, 127),
    Kind.INT16: (-(2**15), 2**15 - 1),
    Kind.INT32: INT_RANGE,
    Kind.INT64: LONG_RANGE,
}
SCALARS: Final[Mapping[Kind, Read]] = {
    Kind.BOOLEAN: _boolean,
    Kind.FLOAT32: _double,
    Kind.FLOAT64: _double,
    Kind.STRING: _string,
    Kind.BYTES: _string,
    **{kind: _whole(kind.value, limits) for kind, limits in WHOLE.items()},
}


# Which branch of a union a value is of: unions have no mark in JSON.


NOT: Final = -1
_SIMPLE: Final = 1 << 30


@dataclass(frozen=True)
class Branch:
    """A branch of a union. ``fields``: the names of a struct's."""

    name: str
    schema: ConnectSchema
    read: Read
    is_union: bool
    fields: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", frozenset(name for name, _ in self.schema.fields))

    def fits(self, value: Any) -> int:
        """Return how well a value fits: -1 not at all, else the fields of an object that the struct has, or more."""
        kind = self.schema.kind
        if kind is Kind.STRUCT and self.is_union:
            return NOT if self._error(value) else _SIMPLE
        if kind is Kind.STRUCT:
            return len(self.fields & value.keys()) if type(value) is dict else NOT
        if kind is Kind.STRING or type(value) is str:
            # a text may be bytes, where no branch is of texts
            is_text = type(value) is str and kind is Kind.STRING
            return _SIMPLE if is_text else 0 if type(value) is str and kind is Kind.BYTES else NOT
        if kind in WHOLE:
            is_whole = type(value) is int and WHOLE[kind][0] <= value <= WHOLE[kind][1]
            return _SIMPLE if is_whole else NOT
        return NOT if self._error(value) else _SIMPLE

    def _error(self, value: Any) -> bool:
        try:
            self.read(value)
        except Unconvertible:
            return True
        return False
