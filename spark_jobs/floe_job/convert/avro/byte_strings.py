"""Text, bytes, fixed and enums: spans of the buffer as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from floe_job.convert.avro.datums import Datums, Longs
from floe_job.convert.avro.numbers import MAX_INT
from floe_job.convert.avro.reader import CutShort, beyond, varint
from floe_job.convert.typed.base import Places

_ASCII: Final = 127

SHORT: Final = 32
"""Bytes of a symbol up to which it is no larger than other values are."""


def read_sizes(datums: Datums, pos: Places, end: Places, path: str) -> tuple[Longs, Places]:
    """Read how many bytes follow; returns that, and the positions where they begin. What goes on behind the end is 0."""
    sizes, begin = datums.varint(pos, end, path)
    bad = sizes.view(np.uint64) > (end - begin).view(np.uint64)  # a size below 0 is a large one
    if bad.any():
        wrong, left = sizes[bad], (end - begin)[bad]
        datums.fail(end[bad], path, lambda i: f"it has {wrong[i]} bytes by its length, and the record {left[i]} more")
        begin[bad] = end[bad]
        sizes[bad] = 0
    return sizes, begin


def spans(datums: Datums, begin: Places, sizes: Longs | int, kind: pa.DataType) -> pa.Array:
    """Return spans of the buffer as a column of large_binary or large_string.

    The buffer itself, with what is between the spans as values too, is such a column already; every other one is taken.
    The spans are in its order, but for those of a datum that is not right: they may be at its end.
    """
    count = len(begin)
    offsets = np.empty(2 * count + 1, np.int64)
    offsets[:-1:2] = begin
    offsets[1::2] = begin + sizes
    offsets[-1] = len(datums.data) if count else 0
    whole = pa.Array.from_buffers(kind, 2 * count, [None, pa.py_buffer(offsets), datums.buffer], 0)
    return whole.take(pa.array(np.arange(0, 2 * count, 2)))


class BytesReader:
    """Reads bytes and text: a length, and what it says."""

    least = values = 1
    size = None

    def __init__(self, path: str, *, is_text: bool) -> None:
        self.path = path
        self._type = pa.large_string() if is_text else pa.large_binary()
        self._is_text = is_text

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[pa.Array, Places]:
        """Read bytes or a text from each position."""
        sizes, begin = read_sizes(datums, pos, end, self.path)
        found = spans(datums, begin, sizes, self._type)
        if self._is_text:
            self._check_text(datums, found, end)
        begin += sizes
        return found, begin

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value."""
        size, pos = varint(view, pos, end)
        return beyond(pos, size, end)

    def _check_text(self, datums: Datums, texts: pa.Array, end: Places) -> None:
        nbytes = texts.buffers()[2]
        if not nbytes or np.frombuffer(nbytes, np.uint8).max() <= _ASCII:
            return
        try:
            texts.validate(full=True)
        except pa.ArrowInvalid:
            bad = [i for i, text in enumerate(texts.view(pa.large_binary()).to_pylist()) if not _is_utf8(text)]
            datums.fail(end[bad], self.path, "it is not UTF-8")


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


class FixedReader:
    """Reads bytes of one length."""

    values = 1

    def __init__(self, size: int, path: str) -> None:
        self.path = path
        self.size = self.least = size

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[pa.Array, Places]:
        """Read bytes from each position."""
        after = pos + self.size
        late = datums.within(after, end, self.path)
        if late is not None:
            pos = np.where(late, after, pos)
        return spans(datums, pos, after - pos, pa.large_binary()), after

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value."""
        return beyond(pos, self.size, end)


class EnumReader:
    """Reads the symbols of an enum, by their number."""

    least = values = 1
    size = None

    def __init__(self, symbols: Sequence[str], path: str) -> None:
        self.path = path
        self._symbols = pa.array(symbols, pa.large_string())
        lengths = np.array([len(symbol.encode()) for symbol in symbols], np.int64)
        self._lengths = lengths if len(lengths) and lengths.max() > SHORT else None

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[pa.Array, Places]:
        """Read a symbol from each position."""
        found, after = datums.varint(pos, end, self.path, MAX_INT)
        count = len(self._symbols)
        bad = found.view(np.uint64) >= count
        if bad.any():
            wrong = found[bad]
            datums.fail(end[bad], self.path, lambda i: f"it is symbol {wrong[i]} of an enum of {count}")
            if not count:
                return pa.nulls(len(found), pa.large_string()), after
            found[bad] = 0
        if self._lengths is not None:
            datums.spend_constants(int(self._lengths[found].sum()))
        return self._symbols.take(pa.array(found)), after

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value."""
        found, pos = varint(view, pos, end)
        if not 0 <= found < len(self._symbols):
            raise CutShort
        return pos
