"""Values into columns of numbers: int, long, float, double, decimal.

What does not fit is refused, and the refusal names the type that Iceberg could promote the column to, if there is one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal, DecimalException
from typing import Any

import numpy as np
from pyiceberg.types import DecimalType, DoubleType, LongType, PrimitiveType

from floe_job.exceptions import VALUE_LENGTH, Unconvertible, clip

INT_RANGE = (-(2**31), 2**31 - 1)
LONG_RANGE = (-(2**63), 2**63 - 1)
ROUNDS_TO_INFINITE_FLOAT = 3.4028235677973366e38
MAX_PRECISION = 38

_INTEGER_TEXT = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_NUMBER_TEXT = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?|NaN|Infinity)", re.ASCII)
_JAVA_BLANKS = "".join(map(chr, range(33)))


def whole(value: Any, target: str, limits: tuple[int, int], wider: PrimitiveType | None = None) -> int:
    """Take a number without a fraction within ``limits``. Raises Unconvertible."""
    number: int
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refuse(value, target)
    if isinstance(value, float):
        if not value.is_integer():
            raise refuse(value, target, "too large" if math.isinf(value) else "its fraction would be lost")
        number = int(value)
    else:
        number = value
    if not limits[0] <= number <= limits[1]:
        fits = LONG_RANGE[0] <= number <= LONG_RANGE[1]
        raise refuse(value, target, "out of range", wider if fits else None)
    return number


def integer_column(target: str, limits: tuple[int, int], wider: PrimitiveType | None = None) -> Callable[[Any], int]:
    """Take whole numbers, and text that is nothing but one."""

    def convert(value: Any) -> int:
        if isinstance(value, str):
            if not _INTEGER_TEXT.fullmatch(value):
                raise refuse(value, target)
            value = int(value)
        return whole(value, target, limits, wider)

    return convert


def floating_column(target: str, infinite: float, wider: PrimitiveType | None = None) -> Callable[[Any], float]:
    """Take numbers and numeric strings; ``infinite`` is the first size that rounds to infinity."""

    def convert(value: Any) -> float:
        number: float
        if isinstance(value, str):
            stripped = value.strip(_JAVA_BLANKS)
            if not _NUMBER_TEXT.fullmatch(stripped):
                raise refuse(value, target)
            number = float(stripped.rstrip("fFdD")) if stripped[-1] in "fFdD" else float(stripped)
            if "N" in stripped or "I" in stripped:
                return number
        elif isinstance(value, bool) or not isinstance(value, int | float):
            raise refuse(value, target)
        else:
            number = _as_float(value)
        if abs(number) >= infinite:
            raise refuse(value, target, "too large", None if math.isinf(number) else wider)
        return number

    return convert


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def decimal_column(target: DecimalType) -> Callable[[Any], Any]:
    """Take numbers and decimal text, rounded half up to the scale, as the sink does."""

    def convert(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise refuse(value, target)
        text = value.token if isinstance(value, Literal) else str(value)
        number = decimal_of_text(text)
        if number is None:
            raise refuse(value, target)
        scaled = set_scale(number, target.precision, target.scale)
        if scaled is None:
            problem = f"cannot write value as {str(target).replace(' ', '')}, too large"
            widest = set_scale(number, MAX_PRECISION, target.scale)
            digits = 0 if widest is None else len(widest.as_tuple().digits)
            raise Unconvertible(problem, DecimalType(digits, target.scale) if digits else None)
        return scaled

    return convert


int_column = integer_column("int", INT_RANGE, LongType())
long_column = integer_column("long", LONG_RANGE)
float_column = floating_column("float", ROUNDS_TO_INFINITE_FLOAT, DoubleType())
double_column = floating_column("double", math.inf)


# Number tokens that Python's ``int`` and ``float`` would change or refuse, and the one place where decimals are
# rounded.


_DECIMAL_TEXT = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,18})?", re.ASCII)
_EXACT = Context(prec=100, Emax=MAX_EMAX, Emin=MIN_EMIN)


class Literal(float):
    """A float that keeps its token: a decimal column takes every digit of it."""

    __slots__ = ("token",)

    def __new__(cls, token: str) -> Literal:
        """Parse a JSON number token."""
        literal = super().__new__(cls, token)
        literal.token = token
        return literal

    token: str


class Single(float):
    """A float of 32 bits: its text has the digits that tell it from others of 32 bits, as Java writes it."""

    __slots__ = ()

    @property
    def token(self) -> str:
        """Return the text, in Python's form; of a finite number."""
        return str(np.float32(self))


class HugeInteger:
    """An integer of more digits than Python parses, and than any column holds."""

    def __init__(self, token: str) -> None:
        self.digits = len(token.lstrip("-"))

    def __repr__(self) -> str:
        return f"<integer of {self.digits} digits>"


def decimal_of_text(text: str) -> Decimal | None:
    """Read a decimal number, with or without exponent; None if it is none."""
    if not _DECIMAL_TEXT.fullmatch(text):
        return None
    try:
        return Decimal(text)
    except DecimalException:
        return None


def set_scale(value: Decimal, precision: int, scale: int) -> Decimal | None:
    """Round half up to ``scale`` digits, as the sink does; None if more than ``precision`` digits are needed."""
    if value and value.adjusted() >= precision - scale:
        return None
    try:
        rounded = value.quantize(Decimal((0, (1,), -scale)), rounding=ROUND_HALF_UP, context=_EXACT)
    except DecimalException:
        return None
    return rounded if len(rounded.as_tuple().digits) <= precision else None


# The error of a value that its column cannot hold.


def refuse(
    value: Any, target: object, why: str = "", wider: PrimitiveType | None = None, *, shown: str = ""
) -> Unconvertible:
    """Return an error with kind and beginning of ``value``, and ``target``; ``wider``: the promoted type it would fit.

    ``shown``: kind and beginning, if ``value`` is none that JSON has.
    """
    if shown:
        return Unconvertible(f"cannot convert {shown} to {target}{why and ', ' + why}", wider)
    kind = _KINDS.get(type(value), "number")
    text = clip(value, VALUE_LENGTH) if isinstance(value, str) else value
    text = "" if isinstance(value, dict | list) else f" {clip(repr(text), VALUE_LENGTH)}"
    return Unconvertible(f"cannot convert {kind}{text} to {target}{why and ', ' + why}", wider)


_KINDS: dict[type, str] = {str: "string", bool: "boolean", dict: "object", list: "array", type(None): "null"}
