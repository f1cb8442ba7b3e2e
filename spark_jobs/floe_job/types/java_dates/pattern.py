"""The pattern of a ``SimpleDateFormat``: fields, and the text between them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from unicodedata import decimal

LETTERS: Final = "GyMdkHmsSEDFwWahKzZYuXL"
MAX_PATTERN: Final = 1_000
"""Characters. Java has no limit; a longer one is a mistake."""

_ALWAYS_COUNTED: Final = frozenset("ydkHmsSDFwWhKYu")
_MONTHS: Final = "ML"


@dataclass(frozen=True, slots=True)
class DateField:
    """A letter of a pattern and how often it is there.

    ``is_counted``: a number field follows at once, so that this one is read from ``count`` characters.
    """

    letter: str
    count: int
    is_counted: bool = False

    @property
    def is_month_number(self) -> bool:
        """Return whether it is a month that is written as a number."""
        return self.letter in _MONTHS and self.count <= 2

    @property
    def is_number(self) -> bool:
        """Return whether Java takes it for a number where it decides about the field before it."""
        return self.letter in _ALWAYS_COUNTED or self.is_month_number


Piece = DateField | str


def compile_pattern(pattern: str) -> tuple[Piece, ...]:
    """Split a pattern into fields and texts. Raises ValueError for one that Java refuses, or that is too long."""
    if len(pattern) > MAX_PATTERN:
        problem = (
            f"the date pattern {pattern[:40]!r}… has {len(pattern)} characters: write one of at most {MAX_PATTERN}"
        )
        raise ValueError(problem)
    pieces = _pieces(pattern)
    for place, (piece, following) in enumerate(pairwise(pieces)):
        if isinstance(piece, DateField) and isinstance(following, DateField) and following.is_number:
            pieces[place] = DateField(piece.letter, piece.count, is_counted=True)
    return tuple(pieces)


def _pieces(pattern: str) -> list[Piece]:
    pieces: list[Piece] = []
    place = 0
    while place < len(pattern):
        character = pattern[place]
        if character == "'":
            text, place = _quoted(pattern, place)
        elif character.isascii() and character.isalpha():
            end = place
            while end < len(pattern) and pattern[end] == character:
                end += 1
            pieces.append(_field(pattern, character, end - place))
            place = end
            continue
        else:
            text, place = character, place + 1
        if pieces and isinstance(pieces[-1], str):
            pieces[-1] += text
        elif text:
            pieces.append(text)
    return pieces


def _field(pattern: str, letter: str, count: int) -> DateField:
    if letter not in LETTERS:
        problem = f"the date pattern {pattern[:40]!r} has {letter!r}: put text in quotes, as in 'T'"
        raise ValueError(problem)
    if letter == "X" and count > 3:
        problem = f"the date pattern {pattern[:40]!r} has {count} letters X: write X, XX or XXX"
        raise ValueError(problem)
    return DateField(letter, count)


def _quoted(pattern: str, start: int) -> tuple[str, int]:
    """Read a quoted text, or two quotes that mean one; return it and where it ends."""
    if pattern.startswith("''", start):
        return "'", start + 2
    text, place = "", start + 1
    while place < len(pattern):
        if pattern.startswith("''", place):
            text, place = text + "'", place + 2
        elif pattern[place] == "'":
            return text, place + 1
        else:
            text, place = text + pattern[place], place + 1
    problem = f"the date pattern {pattern[:40]!r} has a quote that does not end: write two quotes for one"
    raise ValueError(problem)


# The English names of eras, months, days and halves of the day; Java reads them in any case.


ERAS: Final = ("BC", "AD")
LONG_ERAS: Final = ("Before Christ", "Anno Domini")
MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
HALVES: Final = ("AM", "PM")

_FOLDED: Final = str.maketrans({"\u017f": "s", "\u0131": "i", "\u0130": "i", "\u212a": "k"})
"""Characters that Java takes for the same as letters of ASCII when it ignores case."""


def _values(*names: tuple[str, ...], first: int = 0) -> dict[str, int]:
    return {name.lower(): value for each in names for value, name in enumerate(each, first)}


NAMES: Final[dict[str, dict[str, int]]] = {
    "G": _values(ERAS, LONG_ERAS),
    "M": _values(MONTHS, tuple(name[:3] for name in MONTHS)),
    "L": _values(MONTHS, tuple(name[:3] for name in MONTHS)),
    "E": _values(DAYS, tuple(name[:3] for name in DAYS), first=1),
    "a": _values(HALVES),
}
"""What the calendar's field is for each name."""

_LONGEST: Final = 13


def read_name(letter: str, text: str, start: int) -> tuple[int, int] | None:
    """Read the longest name of a field at ``start``; return the value and where it ends, None if there is none."""
    names = NAMES[letter]
    part = text[start : start + _LONGEST].translate(_FOLDED).lower()
    for length in range(len(part), 0, -1):
        value = names.get(part[:length])
        if value is not None:
            return value, start + length
    return None


# Numbers in dates, as Java's ``DecimalFormat`` of whole numbers reads them: an int of 32 bits and where it ends.


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
