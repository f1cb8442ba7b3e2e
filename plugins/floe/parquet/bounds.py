"""Upper bounds of the text in a file, where they are shorter than the text."""

from __future__ import annotations

import sys

from pyiceberg.io.fileformat import DataFileStatistics

_SURROGATES = range(0xD800, 0xE000)


def raise_bounds(statistics: DataFileStatistics) -> None:
    """Cut and raise the largest text of each column here: PyIceberg would make half a surrogate pair of U+D7FF."""
    for aggregate in statistics.column_aggregates.values():
        if isinstance(aggregate.current_max, str) and aggregate.trunc_length is not None:
            aggregate.current_max = raised(aggregate.current_max, aggregate.trunc_length)


def raised(text: str, length: int) -> str | None:
    """Return a text of at most ``length`` characters that is not below ``text``; None if there is none."""
    if len(text) <= length:
        return text
    for last in range(length - 1, -1, -1):
        code = ord(text[last]) + 1
        if code <= sys.maxunicode:
            return text[:last] + chr(_SURROGATES.stop if code in _SURROGATES else code)
    return None
