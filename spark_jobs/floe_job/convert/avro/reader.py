"""What reads the values of one type out of many datums at once."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from floe_job.convert.avro.datums import MAX_VARINT, Datums
from floe_job.convert.typed.base import Places


class CutShort(Exception):
    """A datum ends before a value of it does, or says what cannot be."""


class Reader(Protocol):
    """Reads the values of one type."""

    @property
    def least(self) -> int:
        """Bytes that a value has at least."""

    @property
    def size(self) -> int | None:
        """Bytes that each value has; None where that varies."""

    @property
    def values(self) -> int:
        """How many values of Arrow's one value makes, without the elements of arrays."""

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[pa.Array, Places]:
        """Read a value from each position, none behind ``end``; returns the positions behind them in a new array."""

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value. Raises CutShort."""


def varint(view: memoryview, pos: int, end: int) -> tuple[int, int]:
    """Read one number; returns it, and the position behind it. Raises CutShort."""
    found = shift = 0
    while pos < end and shift < 7 * MAX_VARINT:
        byte = view[pos]
        pos += 1
        found |= (byte & 127) << shift
        if byte < 128:
            return (found >> 1) ^ -(found & 1), pos
        shift += 7
    raise CutShort


def beyond(pos: int, count: int, end: int) -> int:
    """Return the position behind some bytes. Raises CutShort."""
    if not 0 <= count <= end - pos:
        raise CutShort
    return pos + count
