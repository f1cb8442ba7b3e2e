"""Numbers in dates, as Java's ``DecimalFormat`` of whole numbers reads them: an int of 32 bits and where it ends."""

from __future__ import annotations

import math
import re
from typing import Final
from unicodedata import decimal

_PLAIN: Final = re.compile(r"-?[0-9]{1,9}(?![0-9E\u0080-\U0010ffff])")
_INFINITY: Final = "∞"
_MOST: Final = 2**31 - 1
_LEAST: Final = -(2**31)


def wrap_int(value: int) -> int:
    """Return the number that an int of Java holds after an overflow."""
    return (value + 2**31) % 2**32 - 2**31


def wrap_long(value: int) -> int:
    """Return the number that a long of Java holds after an overflow."""
    return (value + 2**63) % 2**64 - 2**63


def read_number(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Read a number at ``start``, before ``end``; None if there is none.

    Any decimal digits of Unicode, an exponent (``1E3``), ``NaN`` (0) and ``∞`` are numbers to Java.
    """
    plain = _PLAIN.match(text, start, end)
    if plain:
        return int(plain[0]), plain.end()
    if text.startswith("NaN", start, end):
        return 0, start + 3
    is_negative = text.startswith("-", start, end)
    place = start + is_negative
    if text.startswith(_INFINITY, place, end):
        return (_LEAST if is_negative else _MOST), place + 1
    stop = _digits_end(text, place, end)
    if stop == place:
        return None
    digits = _ascii(text, place, stop).lstrip("0")
    exponent, stop = _exponent(text, stop, end)
    return _int_value(digits, wrap_int(len(digits) + exponent), is_negative), stop


def _exponent(text: str, place: int, end: int) -> tuple[int, int]:
    """Read an exponent; return it and where it ends, 0 and ``place`` where there is none."""
    if not text.startswith("E", place, end):
        return 0, place
    is_negative = text.startswith("-", place + 1, end)
    start = place + 1 + is_negative
    stop = _digits_end(text, start, end)
    digits = _ascii(text, start, stop).lstrip("0")
    if stop == start or len(digits) > 19:
        return 0, place
    value = int(digits or "0")
    if value >= 2**63:
        return 0, place
    return wrap_int(-wrap_int(value) if is_negative else value), stop


def _int_value(digits: str, point: int, is_negative: bool) -> int:
    """Return the int of ``0.digits`` times ten to the power of ``point``."""
    digits = digits.rstrip("0")
    if not digits:
        return 0
    if len(digits) <= point <= 19:
        value = int(digits) * 10 ** (point - len(digits))
        if value < 2**63 or (is_negative and value == 2**63):
            return wrap_int(-value if is_negative else value)
    number = float(f"0.{digits}E{point}")
    whole = _MOST + 1 if math.isinf(number) else math.trunc(number)
    return max(_LEAST, -whole) if is_negative else min(_MOST, whole)


def _digits_end(text: str, start: int, end: int) -> int:
    place = start
    while place < end and text[place].isdecimal():
        place += 1
    return place


def _ascii(text: str, start: int, end: int) -> str:
    return "".join(str(decimal(character)) for character in text[start:end])
