"""The bytes between the keys and values of records in memory, by Kafka's protocol (RecordBatch, format v2).

A record: its length, attributes (one byte), time and offset (as differences from the batch's first), key with its length,
value with its length, headers with their number. Numbers are zigzag varints; -1 is the length of what is null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from floe_job.source.native.memory import Bytes, Words, nbytes_between

NULL = -1
NO_HEADERS = b"\x00"


class RecordShape(NamedTuple):
    """A record as librdkafka returns it: offset, and bytes of key and value, -1 where there is no address: null or empty."""

    offset: int
    key: int
    value: int


def is_continued(nbytes: bytes, records: Sequence[RecordShape]) -> bool:
    """Return whether bytes are the frame between two records of one batch.

    They begin after the first record's value (after its key where it has no value) and end where the last one's key begins
    (its value where it has no key). Records between them have neither.
    """
    reader = _Reader(nbytes)
    try:
        first, *others = records
        if first.value == NULL and reader.number() > 0:
            return False
        reader.headers()
        deltas = []
        for record in others:
            reader.number()
            reader.skip(1)
            reader.number()
            deltas.append(reader.number())
            if max(reader.number(), 0) != max(record.key, 0):
                return False
            if record is others[-1]:
                break
            if reader.number() > 0:
                return False
            reader.headers()
        last = others[-1]
        if last.key == NULL and reader.number() != last.value:
            return False
    except IndexError:
        return False
    steps = [record.offset - others[0].offset for record in others]
    return reader.is_at_end and [delta - deltas[0] for delta in deltas] == steps and deltas[0] > 0


class _Reader:
    """Numbers and bytes one after the other. Raises IndexError beyond the end."""

    def __init__(self, nbytes: bytes) -> None:
        self._nbytes = nbytes
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._nbytes)

    def number(self) -> int:
        value = shift = 0
        while True:
            byte_ = self._nbytes[self._at]
            self._at += 1
            value |= (byte_ & 0x7F) << shift
            shift += 7
            if byte_ < 0x80:
                return (value >> 1) ^ -(value & 1)

    def skip(self, count: int) -> None:
        if count < NULL or self._at + count > len(self._nbytes):
            raise IndexError
        self._at += max(count, 0)

    def headers(self) -> None:
        for _ in range(self.number()):
            self.skip(self.number())
            self.skip(self.number())


# Headers of many records at once, by Kafka's protocol (RecordBatch, format v2): a step for each header, not for each
# record.
#
# Headers: their number, then of each the length of its name, the name, the length of its value, the value. Numbers
# are zigzag varints; -1 is the length of a value that is null.


Mask = np.ndarray[Any, np.dtype[np.bool_]]

MAX_HEADERS: Final = 32
"""Headers of a record up to which it is read with the others."""

_ZIGZAG: Final = np.array([(number >> 1) ^ -(number & 1) for number in range(1 << 14)], np.int64)
_MORE: Final = 127
"""A byte beyond this is followed by another one of its number."""


class Found(NamedTuple):
    """Where each record has the value of its last header of one name: 0 where it has none, or where that is null.

    ``is_there``: which records have a header of the name, null or not.
    """

    addresses: Words
    sizes: Words
    is_there: Mask


class LastFound(NamedTuple):
    """``headers``: for each name. ``has_any``: which records have headers. ``others``: those that were not read."""

    headers: list[Found]
    has_any: Mask
    others: Words


def find_last(begins: Words, sizes: Words, names: Sequence[bytes]) -> LastFound:
    """Find the last header of each name. ``begins``, ``sizes``: where each record has its headers, of 0 bytes for none."""
    count = len(begins)
    found = [Found(np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.bool_)) for _ in names]
    rows = np.flatnonzero(sizes > 0)
    if not len(rows):
        return LastFound(found, np.zeros(count, np.bool_), rows)
    first, end = int(begins[rows].min()), int((begins + sizes)[rows].max())
    reading = _Reading(nbytes_between(first, end), begins[rows] - first, sizes[rows])
    left = reading.number()
    has_any = np.zeros(count, np.bool_)
    has_any[rows] = left > 0
    others = []
    while True:
        is_bad = reading.is_bad | ((left > 0) & (reading.headers >= MAX_HEADERS))
        others.append(rows[is_bad])
        goes_on = (left > 0) & ~is_bad
        if not goes_on.all():
            rows, left = rows[goes_on], left[goes_on]
            reading.keep(goes_on)
        if not len(rows):
            return LastFound(found, has_any, np.concatenate(others))
        name, size = reading.span(least=0)
        value, value_size = reading.span(least=NULL)
        addresses = np.where(value_size < 0, 0, value + first)
        for one, (places, lengths, is_there) in zip(names, found, strict=True):
            hit = reading.equal(name, size, one)
            some = rows[hit]
            places[some], lengths[some] = addresses[hit], np.maximum(value_size[hit], 0)
            is_there[some] = True
        left = left - 1
        reading.headers += 1


class _Reading:
    """The reading of some records' headers, in step. ``is_bad``: those that end early, or have a number of three bytes."""

    def __init__(self, data: Bytes, position: Words, sizes: Words) -> None:
        self.headers = 0
        self.is_bad = np.zeros(len(position), np.bool_)
        self._data = data
        self._position = position
        self._end = position + sizes

    def keep(self, some: Mask) -> None:
        """Go on with some of the records."""
        self._position, self._end, self.is_bad = self._position[some], self._end[some], self.is_bad[some]

    def number(self) -> Words:
        """Read a number of each."""
        numbers = self._byte()
        more = np.flatnonzero(numbers > _MORE)
        if len(more):
            second = self._data[np.minimum(self._position[more], self._end[more] - 1)].astype(np.int64)
            self.is_bad[more] |= (second > _MORE) | (self._position[more] >= self._end[more])
            numbers[more] = (numbers[more] & _MORE) | (second & _MORE) << 7
            self._position[more] += 1
        return _ZIGZAG[numbers]

    def span(self, *, least: int) -> tuple[Words, Words]:
        """Read a length and pass over what has it; returns where that begins, and the length, ``least`` or more."""
        size = self.number()
        begin = self._position
        self._position = begin + np.maximum(size, 0)
        self.is_bad |= (self._position > self._end) | (size < least)
        return begin, size

    def equal(self, begin: Words, sizes: Words, name: bytes) -> Mask:
        """Return which of some stretches are equal to a name."""
        hit: Mask = (sizes == len(name)) & ~self.is_bad
        rows: Any = slice(None) if hit.all() else np.flatnonzero(hit)
        if not name or not len(begin[rows]):
            return hit
        stretches = np.ndarray((len(self._data) - len(name) + 1,), f"V{len(name)}", self._data, 0, (1,))
        taken = stretches[begin[rows]]
        if taken.tobytes() != name * len(taken):
            hit[rows] = taken == np.void(name)
        return hit

    def _byte(self) -> Words:
        late = self._position >= self._end
        self.is_bad |= late
        found = self._data[np.where(late, self._end - 1, self._position)].astype(np.int64)
        self._position = self._position + 1
        return found
