"""Texts as numbers, as ``Long.parseLong``, ``Double.parseDouble``, ``Float.parseFloat`` and ``new BigDecimal`` read them."""

from __future__ import annotations

import math
import re
from decimal import Decimal, DecimalException
from typing import Final

import numpy as np

from floe_job.types.header_texts.values import nearest_single
from floe_job.types.numbers import Single

MAX_CHARACTERS: Final = 400
"""Of a text that is read as a number; longer ones are refused."""

_INTEGER: Final = re.compile(r"[+-]?\d+")
_FLOAT: Final = re.compile(r"([+-]?)(?:(NaN|Infinity)|((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?)")
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?")
_BLANKS: Final = "".join(map(chr, range(33)))


def java_integer(text: str, bits: int) -> int | None:
    """Read an integer of so many bits; None for what is none."""
    if len(text) > MAX_CHARACTERS or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if is_within(number, bits) else None


def is_within(number: int, bits: int) -> bool:
    """Whether an integer has no more bits than these."""
    return -(1 << (bits - 1)) <= number < 1 << (bits - 1)


def java_float(text: str) -> float | None:
    """Read a float of 64 bits; None for what is none, and for a finite number that is too large."""
    found = _found(text)
    if found is None:
        return None
    sign, word, digits = found
    number = float(f"{sign}{word or digits}".replace("Infinity", "inf"))
    return None if math.isinf(number) and not word else number


def java_single(text: str) -> Single | None:
    """Read a float of 32 bits; None for what is none, and for a finite number that is too large."""
    found = _found(text)
    number = java_float(text)
    if found is None or number is None:
        return None
    sign, word, digits = found
    if word or not number:
        return Single(number)
    return rounded_single(Decimal(f"{sign}{digits}"))


def rounded_single(number: Decimal) -> Single | None:
    """Round a number that is no float's 0 to a float of 32 bits; None if it is too large."""
    with np.errstate(over="ignore"):
        found = nearest_single(number)
    return None if math.isinf(found) else found


def java_decimal(text: str) -> Decimal | None:
    """Read a decimal number; None for what is none."""
    if len(text) > MAX_CHARACTERS or not _DECIMAL.fullmatch(text):
        return None
    try:
        return Decimal(text)
    except DecimalException:
        return None


def _found(text: str) -> tuple[str, str, str] | None:
    """Return sign, word and digits of a float; Java reads hexadecimal ones too."""
    stripped = text.strip(_BLANKS)
    found = _FLOAT.fullmatch(stripped) if len(stripped) <= MAX_CHARACTERS else None
    return None if found is None else (found[1], found[2] or "", found[3] or "")
