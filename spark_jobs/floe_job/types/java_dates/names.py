"""The English names of eras, months, days and halves of the day; Java reads them in any case."""

from __future__ import annotations

from typing import Final

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
