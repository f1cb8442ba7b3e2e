"""The values of records, where librdkafka has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ctypes import c_uint8, memmove, string_at
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from floe_job.source.native.memory import Words, nbytes_between

WIDEST_GAP = 128
"""Bytes between two values up to which they are copied together: a record's frame is ten bytes, plus its key."""

MIN_TOGETHER = 4
"""Average number of adjacent values from which on copying them together is faster."""

CLOSEST = 2_000
"""Bytes between two values up to which copying what is between them costs less than copying them one by one. It is less than
a page of memory: where both values are, what is between them can be read."""

PADDING = 16
"""Bytes before the first of packed values and behind the last that may be read."""

OPENING, CLOSING, NEWLINE = b"{}\n"


class Lines(NamedTuple):
    """Records in one text, and where each begins and ends there. After each is a newline, between them may be blanks."""

    text: bytes | bytearray
    starts: Words
    ends: Words

    def record(self, index: int) -> bytes:
        """Return one of them."""
        return bytes(self.text[self.starts[index] : self.ends[index]])


class Packed(NamedTuple):
    """Values in one buffer, and where each begins and ends there, in their order; an empty one anywhere.

    Between two values may be other bytes, and around all are PADDING bytes. The buffer is nowhere else.
    """

    text: bytearray
    starts: Words
    ends: Words

    @property
    def data(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The buffer as numbers."""
        return np.frombuffer(self.text, np.uint8)


def packed(values: Sequence[bytes | None]) -> Packed:
    """Copy values into one buffer; None is taken for an empty one."""
    if isinstance(values, Values):
        return values.packed()
    sizes: Words = np.fromiter((len(value) if value else 0 for value in values), np.int64, len(values))
    ends = np.cumsum(sizes) + PADDING
    edge = bytes(PADDING)
    return Packed(bytearray().join((edge, *(value for value in values if value), edge)), ends - sizes, ends)


def _joined(values: Packed) -> Lines | None:
    """Return values in one text, if each begins and ends as a JSON object; None where no bytes are between some of them."""
    text, starts, ends = values.data, values.starts, values.ends
    if (ends[:-1] >= starts[1:]).any() or (text[starts] != OPENING).any() or (text[ends - 1] != CLOSING).any():
        return None
    text[ends] = NEWLINE
    spans = np.column_stack((starts, ends + 1)).ravel()
    cut = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(spans) - 1, [None, pa.py_buffer(spans), pa.py_buffer(values.text)]
    )
    lines = cut.take(pa.array(np.arange(0, len(spans), 2)))
    ends = np.frombuffer(lines.buffers()[1], np.int64)[1:] - 1
    return Lines(lines.buffers()[2].to_pybytes(), ends - (values.ends - values.starts), ends)


def divided(values: Sequence[bytes], nbytes: int) -> tuple[Packed, Values]:
    """Return the first bytes of values, and what is behind them; of a shorter value that means nothing."""
    if type(values) is Values:
        return values.heads(nbytes), values.behind(nbytes)
    buffer = packed(values)
    whole = Values((buffer,), buffer.data.ctypes.data + buffer.starts, buffer.ends - buffer.starts)
    return buffer, whole.behind(nbytes)


class Values(Sequence[Any]):
    """Values of records: bytes, None for tombstones. A value is copied when it is accessed.

    ``refs``: what keeps their memory.
    """

    def __init__(self, refs: tuple[object, ...], addresses: Words, sizes: Words) -> None:
        self._refs = refs
        self._addresses = addresses
        self._sizes = sizes

    @property
    def nbytes(self) -> int:
        """Bytes of all of them."""
        return int(self._sizes.sum())

    def __len__(self) -> int:
        return len(self._addresses)

    def __getitem__(self, index: Any) -> Any:
        addresses, sizes = self._addresses[index], self._sizes[index]
        if isinstance(index, slice):
            return Values(self._refs, addresses, sizes)
        return string_at(int(addresses), int(sizes)) if addresses else None

    def __iter__(self) -> Iterator[bytes | None]:
        for address, size in zip(self._addresses.tolist(), self._sizes.tolist(), strict=True):
            yield string_at(address, size) if address else None

    @property
    def has_tombstones(self) -> bool:
        """Whether one of them is None."""
        return not self._addresses.all()

    def present(self) -> list[int]:
        """Return the indices of those that are no tombstones."""
        return np.flatnonzero(self._addresses).tolist()

    def select(self, indices: Sequence[int]) -> Values:
        """Return some of the values, by index."""
        chosen = list(indices)
        return Values(self._refs, self._addresses[chosen], self._sizes[chosen])

    def are_all(self, value: bytes) -> bool:
        """Return whether each of them is one value, and none a tombstone."""
        if not len(self) or not self._addresses.all() or (self._sizes != len(value)).any():
            return False
        if not value:
            return True
        first = int(self._addresses.min())
        memory = nbytes_between(first, int(self._addresses.max()) + len(value))
        stretches = np.ndarray((len(memory) - len(value) + 1,), f"V{len(value)}", memory, 0, (1,))
        return stretches[self._addresses - first].tobytes() == value * len(self)

    def heads(self, nbytes: int) -> Packed:
        """Copy the first bytes of each value into one buffer, of a shorter value none of them."""
        sizes = np.minimum(self._sizes, nbytes)
        starts = np.arange(PADDING, PADDING + nbytes * len(self), nbytes)
        text = bytearray(len(self) * nbytes + 2 * PADDING)
        data = np.frombuffer(text, np.uint8)
        rows: Any = slice(None) if (sizes == nbytes).all() else np.flatnonzero(sizes == nbytes)
        addresses = self._addresses[rows]
        if len(addresses):
            first, last = int(addresses.min()), int(addresses.max())
            memory: Any = (c_uint8 * (last - first + nbytes)).from_address(first)
            heads = np.ndarray((last - first + 1,), f"V{nbytes}", memory, 0, (1,))
            data[PADDING:-PADDING].view(f"V{nbytes}")[rows] = heads[addresses - first]
        return Packed(text, starts, starts + sizes)

    def behind(self, nbytes: int) -> Values:
        """Return what is behind the first bytes of each value; of a shorter one nothing that means anything."""
        return Values(self._refs, self._addresses + nbytes, self._sizes - nbytes)

    def lines(self) -> Lines | None:
        """Return all values in one text, a newline after each, if each begins and ends as a JSON object.

        Values of one batch of Kafka's are adjacent, with the frames of records between them: they are copied together, and
        the frames overwritten by a newline and blanks. Those of which others were left out are copied twice. None where
        neither is so, or faster.
        """
        if not len(self):
            return Lines(b"", self._addresses, self._addresses)
        if not self._sizes.all():
            return None
        starts, ends = self._addresses, self._addresses + self._sizes
        gaps = starts[1:] - ends[:-1]
        breaks = np.flatnonzero((gaps < 1) | (gaps > WIDEST_GAP))
        if (len(breaks) + 1) * MIN_TOGETHER > len(self) + MIN_TOGETHER:
            return _joined(self.packed())
        first, last = np.append(0, breaks + 1), np.append(breaks, len(self) - 1)
        spans = ends[last] - starts[first]
        # where each stretch is copied to: after the one before, and its newline
        landings = np.cumsum(spans + 1) - spans - 1
        text = bytearray(int(spans.sum()) + len(spans))
        nbytes = np.frombuffer(text, np.uint8)
        base = nbytes.ctypes.data
        for landing, start, span in zip(landings.tolist(), starts[first].tolist(), spans.tolist(), strict=True):
            memmove(base + landing, start, span)
        shift = np.repeat(landings - starts[first], last - first + 1)
        starts, ends = starts + shift, ends + shift
        if (nbytes[starts] != OPENING).any() or (nbytes[ends - 1] != CLOSING).any():
            return None
        gaps[breaks] = 1
        text[-1:] = b"\n"
        for gap in np.flatnonzero(np.bincount(gaps)).tolist():
            frames = np.ndarray(len(nbytes) - gap + 1, f"V{gap}", text, 0, (1,))
            frames[ends[:-1][gaps == gap]] = np.void(b"\n".ljust(gap))
        return Lines(text, starts, ends)

    def packed(self) -> Packed:
        """Copy all values into one buffer, adjacent ones together with what is between them."""
        rows = np.flatnonzero(self._sizes)
        starts, ends = self._addresses[rows], (self._addresses + self._sizes)[rows]
        gaps = starts[1:] - ends[:-1]
        breaks = np.flatnonzero((gaps < 0) | (gaps > CLOSEST))
        if (len(breaks) + 1) * MIN_TOGETHER > len(rows) + MIN_TOGETHER:
            return packed(list(self))
        first, last = np.append(0, breaks + 1)[: len(rows)], np.append(breaks, len(rows) - 1)[: len(rows)]
        spans = ends[last] - starts[first]
        landings = np.cumsum(spans + 1) - spans - 1 + PADDING  # a byte between two stretches, too
        text = bytearray(int(spans.sum()) + len(spans) + 2 * PADDING)
        base = np.frombuffer(text, np.uint8).ctypes.data
        for landing, start, span in zip(landings.tolist(), starts[first].tolist(), spans.tolist(), strict=True):
            memmove(base + landing, start, span)
        shift = np.repeat(landings - starts[first], last - first + 1)
        found = Packed(text, np.full(len(self), PADDING, np.int64), np.full(len(self), PADDING, np.int64))
        found.starts[rows], found.ends[rows] = starts + shift, ends + shift
        return found


# Values of records as a column of Arrow's, and a column as values.


_SOMEWHERE = 1
"""Where empty values are: 0 would make tombstones of them."""


def column_of(values: Values) -> pa.LargeBinaryArray:
    """Copy values into a column, with nulls for tombstones."""
    buffer, count = values.packed(), len(values)
    ends = np.maximum.accumulate(buffer.ends)  # an empty one is anywhere
    offsets = np.zeros(2 * count + 1, np.int64)
    offsets[:-1:2], offsets[1::2] = ends - (buffer.ends - buffer.starts), ends
    offsets[-1] = offsets[-2] if count else 0
    # with what is between the values as values too, of which every other one is taken
    spans = pa.Array.from_buffers(
        pa.large_binary(), 2 * count, [None, pa.py_buffer(offsets), pa.py_buffer(buffer.text)], 0
    )
    is_null = None
    if values.has_tombstones:
        is_null = np.ones(count, np.bool_)
        is_null[values.present()] = False
    return spans.take(pa.array(np.arange(0, 2 * count, 2), mask=is_null))


def values_of(column: pa.LargeBinaryArray) -> Values:
    """Return the values of a column, which stay where they are; a null is a tombstone."""
    _, starts, data = column.buffers()
    offsets = np.frombuffer(starts, np.int64)[column.offset : column.offset + len(column) + 1]
    addresses = (data.address if data else 0) + offsets[:-1]
    is_there = column.is_valid().to_numpy(zero_copy_only=False)
    return Values((column,), np.where(is_there, np.maximum(addresses, _SOMEWHERE), 0), np.diff(offsets))
