"""The bytes between the keys and values of records in memory, by Kafka's protocol (RecordBatch, format v2).

A record: its length, attributes (one byte), time and offset (as differences from the batch's first), key with its length,
value with its length, headers with their number. Numbers are zigzag varints; -1 is the length of what is null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
