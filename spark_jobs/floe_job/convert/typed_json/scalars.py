"""Single values of JSON, one by one, into the types of ``floe_job.convert.typed_json.carried_types``."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from floe_job.connect.arrow import MAX_DIGITS, scale_of
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.typed.base64_text import decode_text
from floe_job.convert.typed_json.carried_types import DecimalForm
from floe_job.exceptions import Unconvertible
from floe_job.types.coercion_error import refuse
from floe_job.types.number_tokens import Literal, decimal_of_text
from floe_job.types.numbers import INT_RANGE, LONG_RANGE, whole

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
