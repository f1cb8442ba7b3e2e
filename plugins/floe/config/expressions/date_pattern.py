"""Patterns of Java's ``SimpleDateFormat``: whether it takes them."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

LETTERS: Final = "GyMdkHmsSEDFwWahKzZYuXL"
MAX_PATTERN: Final = 1_000
_QUOTED: Final = re.compile(r"'[^']*'")
_LETTER: Final = re.compile(r"[A-Za-z]")


def check_date_pattern(pattern: str) -> None:
    """Check a pattern. Raises ValueError for one that Java refuses, or that is too long."""
    bare = _QUOTED.sub("", pattern)
    unknown = next((letter for letter in _LETTER.findall(bare) if letter not in LETTERS), None)
    if len(pattern) > MAX_PATTERN:
        problem = f"it has {len(pattern)} characters: write at most {MAX_PATTERN}"
    elif "'" in bare:
        problem = "a quote in it does not end: write '' for the character"
    elif unknown is not None:
        problem = f"it has {unknown!r}, which is no part of a date: put text in quotes, as in 'T'"
    elif "XXXX" in _QUOTED.sub("'", pattern):
        problem = "it has more than three letters X: write X, XX or XXX"
    else:
        return
    raise ValueError(problem)


def pattern_doubts(pattern: str, *, reads: bool) -> Iterator[str]:
    """Yield what a pattern most likely does not mean, as Java takes it, with what to write instead.

    ``reads``: whether texts are read by it, and not only written.
    """
    fields = [found[0] for found in re.finditer(r"([A-Za-z])\1*", _QUOTED.sub(" ", pattern))]
    letters = [field[0] for field in fields]
    milliseconds = next((len(field) for field in fields if field[0] == "S"), 3)
    if milliseconds != 3:
        yield (
            f"{'S' * min(milliseconds, 9)} is a number of milliseconds: Java takes .123456 for two minutes. Write SSS, and "
            "have producers write three digits; a timestamp column takes ISO text with up to nine without this transform"
        )
    if "Y" in letters and "w" not in letters:
        yield "Y is the year that a week belongs to, at the turn of the year another one: write yyyy"
    if "D" in letters and not {"M", "L", "d"}.isdisjoint(letters):
        yield "D is the day of the year: write dd for that of the month"
    if not {"h", "K"}.isdisjoint(letters) and "a" not in letters:
        yield "h is an hour of half a day, and no a says which half, so that 12 is midnight: write HH"
    if reads and "a" in letters and {"h", "K"}.isdisjoint(letters) and not {"H", "k"}.isdisjoint(letters):
        yield "H is an hour of the whole day, so that the half that a says is ignored, and 03:30 PM is in the night: write hh"
    if {"m", "d"} <= set(letters) and {"M", "L"}.isdisjoint(letters):
        yield "m is minutes, and there is no month: write MM for it"
    if any(later == "M" and hour in "HhkK" for hour, later in pairwise(letters)):
        yield "M behind the hour is the month: write mm for minutes"
    if {"S", "m"} <= set(letters) and "s" not in letters:
        yield "S is milliseconds, and there are no seconds: write ss for them"
    if reads and len(letters) != len(set(letters)):
        yield "a letter stands at two places, and only the later one counts: write each once"
