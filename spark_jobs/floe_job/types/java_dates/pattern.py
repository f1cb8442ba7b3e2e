"""The pattern of a ``SimpleDateFormat``: fields, and the text between them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

LETTERS: Final = "GyMdkHmsSEDFwWahKzZYuXL"
MAX_PATTERN: Final = 1_000
"""Characters. Java has no limit; a longer one is a mistake."""

_ALWAYS_COUNTED: Final = frozenset("ydkHmsSDFwWhKYu")
_MONTHS: Final = "ML"


@dataclass(frozen=True, slots=True)
class Field:
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


Piece = Field | str


def compile_pattern(pattern: str) -> tuple[Piece, ...]:
    """Split a pattern into fields and texts. Raises ValueError for one that Java refuses, or that is too long."""
    if len(pattern) > MAX_PATTERN:
        problem = (
            f"the date pattern {pattern[:40]!r}… has {len(pattern)} characters: write one of at most {MAX_PATTERN}"
        )
        raise ValueError(problem)
    pieces = _pieces(pattern)
    for place, (piece, following) in enumerate(pairwise(pieces)):
        if isinstance(piece, Field) and isinstance(following, Field) and following.is_number:
            pieces[place] = Field(piece.letter, piece.count, is_counted=True)
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


def _field(pattern: str, letter: str, count: int) -> Field:
    if letter not in LETTERS:
        problem = f"the date pattern {pattern[:40]!r} has {letter!r}: put text in quotes, as in 'T'"
        raise ValueError(problem)
    if letter == "X" and count > 3:
        problem = f"the date pattern {pattern[:40]!r} has {count} letters X: write X, XX or XXX"
        raise ValueError(problem)
    return Field(letter, count)


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
