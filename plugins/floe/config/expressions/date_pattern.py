"""Patterns of Java's ``SimpleDateFormat``: whether it takes them."""

import re
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
