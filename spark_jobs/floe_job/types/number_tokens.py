"""Number tokens that Python's ``int`` and ``float`` would change or refuse, and the one place where decimals are rounded."""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal, DecimalException

import numpy as np

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
