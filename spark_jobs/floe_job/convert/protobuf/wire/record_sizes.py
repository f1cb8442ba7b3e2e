"""How many values a record makes: one with many empty messages makes far more of them than it has bytes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from floe_job.convert.protobuf.descriptors import Message
from floe_job.convert.protobuf.wire.schema import WireSchema

MAX_VALUES: Final = 10_000_000
"""Values of Arrow's, elements of repeated fields included, that one record may make."""


class RecordSizes:
    """Counts the values of records."""

    def __init__(self, message: Message, wire: WireSchema) -> None:
        self._message = message
        self._fields = wire.fields
        self._widest = wire.widest

    def problem(self, value: pa.Scalar) -> str:
        """Return why a record is too large; empty where it is not.

        An element takes two bytes at least. What that does not decide is counted: elements by the bytes of their tags.
        """
        nbytes = value.as_buffer().size
        if self._fields + nbytes // 2 * self._widest <= MAX_VALUES:
            return ""
        if self._fields + self._elements(value.as_py()) * self._widest <= MAX_VALUES:
            return ""
        return f"the value: it may have more than {MAX_VALUES} values in its repeated fields"

    def _elements(self, value: bytes) -> int:
        """Return a number that the elements of repeated messages do not exceed: how often their tags are in the bytes."""
        data = np.frombuffer(value, np.uint8)
        return sum(_count(data, tag) for tag in self._tags(self._message, set()))

    def _tags(self, message: Any, seen: set[str]) -> set[bytes]:
        if message.full_name in seen:
            return set()
        seen.add(message.full_name)
        found: set[bytes] = set()
        for member in message.fields:
            if member.message_type is not None:
                found |= self._tags(member.message_type, seen)
            if member.message_type is not None and member.is_repeated:
                found.add(_tag(member.number, 3 if member.type == member.TYPE_GROUP else 2))
        return found


def _tag(number: int, kind: int) -> bytes:
    value, found = number << 3 | kind, bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _count(data: np.ndarray[Any, np.dtype[np.uint8]], tag: bytes) -> int:
    here = data[: max(0, len(data) - len(tag) + 1)] == tag[0]
    for at, byte in enumerate(tag[1:], 1):
        here = here & (data[at : at + len(here)] == byte)
    return int(here.sum())
