"""Batches, values and messages of the portable consumer: columns over objects of confluent-kafka's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, overload

import confluent_kafka as ck
import numpy as np

from floe_job.source.batch import Batch
from floe_job.source.messages import NO_TIME, HeaderKinds, Headers, Message, Messages, has_header, last_of
from floe_job.source.native.memory import Words
from floe_job.source.values import CLOSING, OPENING, Lines, Packed, Values, packed

NO_TIMESTAMP = ck.TIMESTAMP_NOT_AVAILABLE


class PortableBatch(Batch):
    """Records of one partition, each an object of confluent-kafka's.

    ``headers``: of each, as they can be requested only once; None where they cannot be read.
    """

    own: Sequence[ck.Message]
    headers: Sequence[Headers | None]

    @classmethod
    def of_messages(cls, messages: Sequence[ck.Message]) -> PortableBatch:
        """Read the columns of messages, which are records all."""
        count = len(messages)
        offsets: Words = np.fromiter(map(ck.Message.offset, messages), np.int64, count)
        sizes: Words = np.fromiter(map(len, messages), np.int64, count)
        return cls._made(messages, _headers(messages), offsets, sizes, _key_sizes(messages))

    @classmethod
    def _made(
        cls,
        own: Sequence[ck.Message],
        headers: Sequence[Headers | None],
        offsets: Words,
        sizes: Words,
        key_sizes: Words,
    ) -> PortableBatch:
        nowhere = np.zeros_like(offsets)
        one = cls((), nowhere, offsets, nowhere, sizes, key_sizes)
        object.__setattr__(one, "own", own)
        object.__setattr__(one, "headers", headers)
        return one

    @property
    def last_epoch(self) -> int | None:
        return self.own[-1].leader_epoch()

    def _joined(self, parts: Sequence[Batch]) -> Batch:
        return self._made(
            [message for part in parts if isinstance(part, PortableBatch) for message in part.own],
            [headers for part in parts if isinstance(part, PortableBatch) for headers in part.headers],
            np.concatenate([part.offsets for part in parts]),
            np.concatenate([part.sizes for part in parts]),
            np.concatenate([part.key_sizes for part in parts]),
        )

    def where(self, mask: np.ndarray[Any, np.dtype[np.bool_]] | slice) -> Batch:
        """Return the records that a mask or a slice has."""
        if isinstance(mask, slice):
            own, headers = self.own[mask], self.headers[mask]
        elif mask.all():
            return self
        else:
            kept = np.flatnonzero(mask).tolist()
            own, headers = [self.own[i] for i in kept], [self.headers[i] for i in kept]
        return self._made(own, headers, self.offsets[mask], self.sizes[mask], self.key_sizes[mask])

    @property
    def values(self) -> Values:
        """The values, None for tombstones."""
        return PortableValues(list(map(ck.Message.value, self.own)))

    @property
    def messages(self) -> Messages:
        """Each record with its key, time and headers."""
        return PortableMessages(self.own, self.headers)


class PortableValues(Values):
    """Values of records: bytes, None for tombstones."""

    def __init__(self, values: Sequence[bytes | None]) -> None:
        self._values = values

    @property
    def nbytes(self) -> int:
        """Bytes of all of them."""
        return sum(len(value) for value in self._values if value)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: Any) -> Any:
        found = self._values[index]
        return PortableValues(found) if isinstance(index, slice) else found

    def __iter__(self) -> Any:
        return iter(self._values)

    @property
    def has_tombstones(self) -> bool:
        """Whether one of them is None."""
        return None in self._values

    def present(self) -> list[int]:
        """Return the indices of those that are no tombstones."""
        return [i for i, value in enumerate(self._values) if value is not None]

    def select(self, indices: Sequence[int]) -> Values:
        """Return some of the values, by index."""
        return PortableValues([self._values[i] for i in indices])

    def lines(self) -> Lines | None:
        """Return all values in one text, a newline after each, if each begins and ends as a JSON object."""
        if not self._values:
            return Lines(b"", _EMPTY, _EMPTY)
        if not all(self._values):
            return None
        values: Sequence[bytes] = self._values  # type: ignore[assignment]
        sizes = np.fromiter(map(len, values), np.int64, len(values))
        text = b"\n".join([*values, b""])
        ends = np.cumsum(sizes + 1) - 1
        starts = ends - sizes
        nbytes = np.frombuffer(text, np.uint8)
        if (nbytes[starts] != OPENING).any() or (nbytes[ends - 1] != CLOSING).any():
            return None
        return Lines(text, starts, ends)

    def packed(self) -> Packed:
        """Copy all values into one buffer."""
        return packed(self._values)


class PortableMessages(Messages):
    """The records of a batch, or some of them."""

    def __init__(self, own: Sequence[ck.Message], headers: Sequence[Headers | None]) -> None:
        self._own = own
        self._headers = headers

    def __len__(self) -> int:
        return len(self._own)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Messages: ...
    def __getitem__(self, index: Any) -> Message | Messages:
        return self.select(index) if isinstance(index, slice) else Message(self, range(len(self))[index])

    def select(self, indices: Sequence[int] | slice) -> Messages:
        """Return some of them, by index."""
        if isinstance(indices, slice):
            return PortableMessages(self._own[indices], self._headers[indices])
        chosen = list(indices)
        return PortableMessages([self._own[i] for i in chosen], [self._headers[i] for i in chosen])

    def keys(self) -> list[bytes | None]:
        """Return the key of each, as it is in the log."""
        return [_bytes(key) for key in map(ck.Message.key, self._own)]

    def key_values(self) -> Values:
        """Return the keys."""
        return PortableValues(self.keys())

    def timestamps(self) -> list[int | None]:
        """Return the time of each, in epoch ms; None where the record has none."""
        times = map(ck.Message.timestamp, self._own)
        return [None if kind == NO_TIMESTAMP or time == NO_TIME else time for kind, time in times]

    def headers(self) -> list[Headers | None]:
        """Return the headers of each in their order; None where they cannot be read."""
        return list(self._headers)

    def have_header(self, name: str) -> list[bool]:
        """Return which of them have a header of a name."""
        return [has_header(headers, name) for headers in self._headers]

    def last_headers(self, names: Sequence[str]) -> HeaderKinds:
        """Return headers of each record by their names."""
        return HeaderKinds.counted([last_of(headers, names) for headers in self._headers])


_EMPTY = np.zeros(0, np.int64)

_NONE: Headers = []
_UNREADABLE = object()

_headers_of = partial(ck.Message.headers)
"""confluent-kafka 2.16 returns a broken list, and no error, for a name that is not UTF-8. Any access to that list causes a
segmentation fault. Called by ``partial``, CPython checks for a pending error, and raises SystemError. The error is
pending at the first call for a message only."""


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _headers(messages: Sequence[ck.Message]) -> list[Headers | None]:
    """Return the headers of each message; None where they cannot be read."""
    found: list[Any] = []
    left = iter(messages)
    while len(found) < len(messages):
        try:
            found.extend(map(_headers_of, left))
        except (SystemError, UnicodeDecodeError):
            found.append(_UNREADABLE)
    if found.count(None) == len(found):
        return [_NONE] * len(found)
    return [_NONE if one is None else None if one is _UNREADABLE else list(one) for one in found]


def _key_sizes(messages: Sequence[ck.Message]) -> Words:
    keys = list(map(ck.Message.key, messages))
    if keys.count(None) == len(keys):
        return np.zeros(len(keys), np.int64)
    return np.fromiter((len(key) if key else 0 for key in keys), np.int64, len(keys))


def headers_nbytes(headers: Headers) -> int:
    """Return the approximate number of bytes that headers take."""
    return sum(len(name) + len(value or b"") + 2 for name, value in headers)
