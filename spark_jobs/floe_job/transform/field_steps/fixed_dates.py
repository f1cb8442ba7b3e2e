"""Texts of times that have one length, such as ``2024-01-02 03:04:05``, as a column of milliseconds.

A text that is not written exactly as the pattern says is left to the exact way, which says what is wrong with it.
"""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
import pyarrow as pa

from floe_job.transform.field_steps.demand import Mask

_TOKEN: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']")
_NUMBERS: Final = {
    "yyyy": "year",
    "MM": "month",
    "dd": "day",
    "HH": "hour",
    "mm": "minute",
    "ss": "second",
    "SSS": "milli",
}
_FIRST_YEAR: Final = 1583
"""The first whole year of the calendar that Java has from October 1582 on."""

_LEAST: Final = {"month": 1, "day": 1, "year": _FIRST_YEAR}
_MOST: Final = {"month": 12, "hour": 23, "minute": 59, "second": 59}
_DAYS: Final = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_Numbers = np.ndarray[Any, np.dtype[np.int64]]


class FixedDates:
    """Reads texts of one pattern of ``java.text.SimpleDateFormat``, in UTC."""

    def __init__(self, width: int, numbers: dict[str, slice], literals: dict[int, int]) -> None:
        self._width = width
        self._numbers = numbers
        self._literals = literals

    @classmethod
    def of(cls, pattern: str) -> FixedDates | None:
        """Return the reader of a pattern; None for one of another kind, whose texts have no fixed places."""
        at, numbers, literals = 0, dict[str, slice](), dict[int, int]()
        for token in _TOKEN.finditer(pattern):
            text = token[0]
            if text in _NUMBERS:
                if _NUMBERS[text] in numbers:
                    return None
                numbers[_NUMBERS[text]] = slice(at, at + len(text))
                at += len(text)
                continue
            if token[2] is not None and text not in ("X", "XX", "XXX"):
                return None
            literal = "Z" if token[2] is not None else text if token[1] is None else token[1].replace("''", "'") or "'"
            if not literal.isascii():
                return None
            literals |= {at + place: ord(character) for place, character in enumerate(literal)}
            at += len(literal)
        is_whole = "".join(token[0] for token in _TOKEN.finditer(pattern)) == pattern
        return cls(at, numbers, literals) if is_whole and {"year", "month", "day"} <= numbers.keys() else None

    def read(self, column: pa.Array) -> tuple[pa.Array, Mask | None]:
        """Return the milliseconds since 1970 of texts (large_string), and which need the exact way."""
        present = column.is_valid().to_numpy(zero_copy_only=False)
        offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
        fits = present & (np.diff(offsets) == self._width)
        rows = np.flatnonzero(fits)
        if not len(rows):
            return pa.nulls(len(column), pa.int64()), present if present.any() else None
        data = np.frombuffer(column.buffers()[2], np.uint8)
        texts = data[offsets[:-1][rows][:, None] + np.arange(self._width)]
        good = np.ones(len(rows), np.bool_)
        for place, code in self._literals.items():
            good &= texts[:, place] == code
        parts = {}
        for name, places in self._numbers.items():
            digits = texts[:, places].astype(np.int64) - ord("0")
            good &= ((digits >= 0) & (digits <= 9)).all(axis=1)
            parts[name] = digits @ (10 ** np.arange(digits.shape[1] - 1, -1, -1))
            good &= (parts[name] >= _LEAST.get(name, 0)) & (parts[name] <= _MOST.get(name, 9999))
        months = np.clip(parts["month"], 1, 12)
        good &= parts["day"] <= _DAYS[months - 1] + ((months == 2) & _is_leap(parts["year"]))
        millis = np.zeros(len(column), np.int64)
        millis[rows] = _millis(parts, months)
        is_read = np.zeros(len(column), np.bool_)
        is_read[rows[good]] = True
        bad = present & ~is_read
        return pa.array(millis, pa.int64(), mask=~is_read), bad if bad.any() else None


def _is_leap(years: _Numbers) -> Mask:
    found: Mask = (years % 4 == 0) & ((years % 100 != 0) | (years % 400 == 0))
    return found


def _millis(parts: dict[str, _Numbers], months: _Numbers) -> _Numbers:
    years = np.clip(parts["year"], _FIRST_YEAR, 9999)
    first = (years - 1970).astype("datetime64[Y]").astype("datetime64[M]") + (months - 1)
    days = first.astype("datetime64[D]").astype(np.int64) + parts["day"] - 1
    zero = np.zeros(len(years), np.int64)
    seconds = (parts.get("hour", zero) * 60 + parts.get("minute", zero)) * 60 + parts.get("second", zero)
    made: _Numbers = (days * 86_400 + seconds) * 1000 + parts.get("milli", zero)
    return made
