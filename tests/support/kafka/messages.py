"""Records as a consumer hands them out, without a broker: values in memory of their own, the rest by a stand-in."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from floe.model.offsets import OffsetRange
from floe_job.source.messages import HeaderKinds, Headers, Messages, has_header, last_of
from floe_job.source.record_batch import RangePart, Records
from floe_job.source.values import Values

RANGE, OTHER = (OffsetRange("pizzas", "T1", p, 0, 1000) for p in range(2))
PIECE, OTHER_PIECE = RangePart(RANGE, 0, 1000), RangePart(OTHER, 0, 1000)
FRAME = b"\x14\x00\x00"


@dataclass(frozen=True)
class Message:
    """What a record has beside its value."""

    offset: int
    key: bytes | None = b"k"
    headers: tuple[tuple[str, bytes | None], ...] | None = (("h", b"v"),)


class GivenMessages(Messages):
    """Replaces messages in librdkafka's memory, whose times and headers only librdkafka can read."""

    def __init__(self, given: Sequence[Message]) -> None:
        self._given = given

    def __len__(self) -> int:
        return len(self._given)

    def select(self, indices: Sequence[int] | slice) -> Messages:
        chosen = range(len(self))[indices] if isinstance(indices, slice) else indices
        return GivenMessages([self._given[i] for i in chosen])

    def keys(self) -> list[bytes | None]:
        return [one.key for one in self._given]

    def key_values(self) -> Values:
        return values_of(self.keys())

    def timestamps(self) -> list[int | None]:
        return [7000 + one.offset for one in self._given]

    def headers(self) -> list[Headers | None]:
        return [None if one.headers is None else list(one.headers) for one in self._given]

    def have_header(self, name: str) -> list[bool]:
        return [has_header(headers, name) for headers in self.headers()]

    def last_headers(self, names: Sequence[str]) -> HeaderKinds:
        return HeaderKinds.counted([last_of(headers, names) for headers in self.headers()])


def values_of(given: Sequence[bytes | None]) -> Values:
    """Lay values behind each other, with a frame before each, as a broker does."""
    text = b"".join(FRAME + (value or b"") for value in given)
    held: Any = ctypes.create_string_buffer(text, len(text) + 1)
    sizes = np.array([len(value or b"") for value in given], np.int64)
    addresses = ctypes.addressof(held) + np.cumsum(sizes + len(FRAME)) - sizes
    is_there = np.array([value is not None for value in given], np.bool_)
    return Values((held,), np.where(is_there, addresses, 0), sizes)


def records(part: RangePart, values: Sequence[bytes | None], messages: Sequence[Message] | None = None) -> Records:
    """Return records at the offsets 0, 1, 2…"""
    offsets = range(len(values))
    given = messages if messages is not None else [Message(offset) for offset in offsets]
    return Records(part, list(offsets), values_of(values), GivenMessages(given))
