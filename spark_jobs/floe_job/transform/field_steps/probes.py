"""A search for records that have one of some fields, without parsing any."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

import numpy as np

from floe_job.source.native.search import find
from floe_job.source.values import Packed, packed
from floe_job.transform.field_steps.demand import Mask

_TEXT: Final = re.compile(rb'"(?:[^"\\]|\\.)*+("\s*:)?', re.DOTALL)
"""A text, with what follows a key. What is not closed goes to the end, so that no part of a value is read twice."""

_BACKSLASH: Final = 0x5C


class Probes:
    """Looks for fields in JSON texts. A record that has the name elsewhere, as a text, is found too."""

    def __init__(self, fields: Collection[str]) -> None:
        self._names = [f'"{field}"'.encode() for field in sorted(fields)]

    def rows(self, values: Sequence[bytes]) -> Mask:
        """Return which values may have one of the fields."""
        found = np.zeros(len(values), np.bool_)
        if not self._names:
            return found
        buffer = packed(values)
        filled = np.flatnonzero(buffer.ends > buffer.starts)
        spans = _Spans(buffer.starts[filled], buffer.ends[filled])
        for name in self._names:
            for row in spans.with_part(buffer, name):
                found[filled[row]] = True
        for row in filled[spans.with_byte(buffer, _BACKSLASH)].tolist():
            found[row] = found[row] or _has_escaped_key(values[row])
        return found


class _Spans:
    """Where values begin and end in one text, in ascending order."""

    def __init__(self, starts: np.ndarray[Any, Any], ends: np.ndarray[Any, Any]) -> None:
        self._starts = starts
        self._ends = ends

    def with_part(self, buffer: Packed, part: bytes) -> Iterator[int]:
        """Yield the values that contain some bytes, each once."""
        place = find(buffer.text, part)
        while place >= 0:
            row = int(np.searchsorted(self._starts, place, "right")) - 1
            after = place + 1  # what is between two values means nothing
            if row >= 0 and place + len(part) <= self._ends[row]:
                yield row
                after = int(self._ends[row])
            place = find(buffer.text, part, after)

    def with_byte(self, buffer: Packed, byte: int) -> np.ndarray[Any, Any]:
        """Return the values that contain a byte, each once."""
        if byte not in buffer.text:
            return np.zeros(0, np.int64)
        places = np.flatnonzero(buffer.data == byte)
        rows = np.searchsorted(self._starts, places, "right") - 1
        return np.unique(rows[(rows >= 0) & (places < self._ends[rows])])


def _has_escaped_key(value: bytes) -> bool:
    """Say whether a value has a key with an escape, which may spell any name."""
    return any(text[1] is not None and b"\\" in text[0] for text in _TEXT.finditer(value))
