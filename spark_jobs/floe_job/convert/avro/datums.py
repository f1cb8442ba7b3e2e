"""Datums of one schema in one buffer, of which one field of all is read at a time.

A datum that is not right does not stop the others: why is noted, and it is taken for one that ends there. What is read
of it from then on means nothing, and its row is dropped at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa

from floe_job.convert.column_limits import MAX_CHUNK_CONSTANTS, MAX_CONSTANTS
from floe_job.convert.typed.base import Places
from floe_job.exceptions import VALUE_LENGTH, clip

Mask = np.ndarray[Any, np.dtype[np.bool_]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Longs = np.ndarray[Any, np.dtype[np.int64]]

MAX_VALUES: Final = 10_000_000
"""Values of Arrow's, elements of arrays included, that one datum may make."""

MAX_CHUNK_VALUES: Final = 4_000_000
"""Values that the datums of a chunk may make together, before it is divided."""

CUT: Final = "the record ends within it"
MAX_VARINT: Final = 10
"""Bytes of a long. An int has 5: Java refuses more."""

_STOPS: Final = np.uint64(0x8080808080808080)
_SEVENS: Final = tuple(
    (np.uint64(low), np.uint64(high), np.uint64(shift))
    for low, high, shift in (
        (0x007F007F007F007F, 0x7F007F007F007F00, 1),
        (0x00003FFF00003FFF, 0x3FFF00003FFF0000, 2),
        (0x000000000FFFFFFF, 0x0FFFFFFF00000000, 4),
    )
)
_ONE: Final = np.uint64(1)
_OF_ONE_BYTE: Final = np.array([(byte >> 1) ^ -(byte & 1) for byte in range(256)], np.int64)
"""The number that each byte is alone."""


class TooManyValues(Exception):
    """The datums of a chunk make more values than memory should hold, or larger ones. The text is about one datum."""


class Datums:
    """Where datums are located, and which of them are not right.

    ``data``: with ``floe_job.source.values.PADDING`` bytes before the first and behind the last. ``ends``: of each
    datum, ascending, no two the same.
    """

    def __init__(self, data: Bytes, ends: Places) -> None:
        self.data = data
        self.buffer = pa.py_buffer(data)
        self.ends = ends
        self.failed: Mask = np.zeros(len(ends), np.bool_)
        self.reasons: dict[int, str] = {}
        self._values = self._constants = 0
        self._words: dict[str, Any] = {}

    def words(self, kind: str) -> Any:
        """Return the buffer as numbers that begin at each byte."""
        if kind not in self._words:
            dtype = np.dtype(kind)
            count = len(self.data) - dtype.itemsize + 1
            self._words[kind] = np.ndarray((count,), dtype, self.data.data, 0, (1,))
        return self._words[kind]

    def spend(self, values: int) -> None:
        """Count values that will be made. Raises TooManyValues."""
        self._values += values
        if self._values > (MAX_VALUES if len(self.ends) == 1 else MAX_CHUNK_VALUES):
            problem = f"it has more than {MAX_VALUES} values in its arrays and maps"
            raise TooManyValues(problem)

    def spend_constants(self, nbytes: int) -> None:
        """Count the bytes of symbols and defaults that will be copied. Raises TooManyValues."""
        self._constants += nbytes
        if self._constants > (MAX_CONSTANTS if len(self.ends) == 1 else MAX_CHUNK_CONSTANTS):
            problem = f"its symbols and defaults have more than {MAX_CONSTANTS} bytes"
            raise TooManyValues(problem)

    def fail(self, ends: Places, path: str, why: Callable[[int], str] | str) -> None:
        """Note that datums are not right, by their ends. ``why``: a text, or makes one for the index in ``ends``."""
        places = np.searchsorted(self.ends, ends)
        fresh = np.flatnonzero(~self.failed[places])
        if not len(fresh):
            return
        places, firsts = np.unique(places[fresh], return_index=True)
        self.failed[places] = True
        where = f"field {clip(path, VALUE_LENGTH)!r}" if path else "the value"
        for place, first in zip(places.tolist(), fresh[firsts].tolist(), strict=True):
            self.reasons[place] = f"{where}: {why if isinstance(why, str) else why(first)}"

    def within(self, pos: Places, end: Places, path: str, why: str = CUT) -> Mask | None:
        """Check that no datum ends before a position, and take those that do for ended; None if all are right."""
        late = pos > end
        if not late.any():
            return None
        self.fail(end[late], path, why)
        pos[late] = end[late]
        return late

    def varint(self, pos: Places, end: Places, path: str, most: int = MAX_VARINT) -> tuple[Longs, Places]:
        """Read a number in Avro's encoding from each position; returns the numbers, and the positions behind them.

        ``most``: bytes that one may have.
        """
        first = self.data[pos]
        found = _OF_ONE_BYTE[first]
        pos = pos + 1
        more = np.flatnonzero(first > 127)
        if len(more):
            found[more], sizes = self._long(pos[more] - 1)
            pos[more] += sizes - 1
            if (bad := sizes > most).any():
                self.fail(end[more[bad]], path, f"its number has more than {most} bytes")
                pos[more[bad]] = end[more[bad]]
                found[more[bad]] = 0
        late = self.within(pos, end, path)
        if late is not None:
            found[late] = 0
        return found, pos

    def _long(self, pos: Places) -> tuple[Longs, Places]:
        """Read numbers of more than a byte; returns how many bytes each has, 11 for too many."""
        words = self.words("<u8")[pos]
        stop = ~words & _STOPS
        mask = stop ^ (stop - _ONE)  # the bytes up to the first that ends a number
        sizes = (np.bitwise_count(mask).astype(np.int64) + 7) >> 3
        words &= mask & ~_STOPS
        for low, high, shift in _SEVENS:
            words = (words & low) | ((words & high) >> shift)
        if not stop.all():
            rows = np.flatnonzero(stop == 0)
            ninth, tenth = self.data[pos[rows] + 8], self.data[pos[rows] + 9]
            words[rows] |= (ninth & 127).astype(np.uint64) << np.uint64(56)
            has_tenth = ninth > 127
            words[rows] |= np.where(has_tenth, tenth & 1, 0).astype(np.uint64) << np.uint64(63)
            sizes[rows] = np.where(has_tenth, np.where(tenth > 1, 11, 10), 9)
        sign = np.negative(words & _ONE)
        return ((words >> _ONE) ^ sign).view(np.int64), sizes


# What reads the values of one type out of many datums at once.


class CutShort(Exception):
    """A datum ends before a value of it does, or says what cannot be."""


class AvroReader(Protocol):
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
