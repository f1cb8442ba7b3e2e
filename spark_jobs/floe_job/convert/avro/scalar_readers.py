"""Values of Avro that have no parts: text, bytes, fixed, enums, decimals and numbers, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from floe_job.connect.arrow import MAX_DIGITS, arrow_type
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.avro.datums import MAX_VARINT, CutShort, Datums, Longs, beyond, varint
from floe_job.convert.typed.base import Places
from floe_job.convert.typed.numbers import decimals, range_of

# Text, bytes, fixed and enums: spans of the buffer as columns.


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


# Decimals: the unscaled value in two's complement, big-endian, in bytes or in a fixed.


_TOO_LARGE: Final = f"it is a decimal of more than {MAX_DIGITS} digits"


class DecimalReader:
    """Reads decimals. ``size``: of the fixed that they are in; None for bytes."""

    values = 1

    def __init__(self, schema: ConnectSchema, size: int | None, path: str) -> None:
        self.path = path
        self.size = size
        self.least = 1 if size is None else size
        self._type = arrow_type(schema)

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[pa.Array, Places]:
        """Read a decimal from each position."""
        if self.size is None:
            sizes, begin = read_sizes(datums, pos, end, self.path)
        else:
            sizes, begin = np.full_like(pos, self.size), pos
        after = begin + sizes
        datums.within(after, end, self.path)
        if not sizes.all():
            datums.fail(end[sizes == 0], self.path, "it is a decimal without a byte")
        found, bad = decimals(datums.data, datums.words(">i8"), after, sizes, self._type)
        if bad is not None:
            datums.fail(end[bad], self.path, _TOO_LARGE)
        return found, after

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value."""
        size = self.size
        if size is None:
            size, pos = varint(view, pos, end)
        return beyond(pos, size, end)


# Numbers, dates and times: from Avro's varints and IEEE floats to Arrow's columns.


MAX_INT: Final = 5
"""Bytes of an int."""


class WholeReader:
    """Reads ints and longs, and the logical types that they carry."""

    least = values = 1
    size = None

    def __init__(self, schema: ConnectSchema, path: str) -> None:
        self.path = path
        self._most = MAX_VARINT if schema.kind is Kind.INT64 else MAX_INT
        self._type = arrow_type(schema)
        self._range = range_of(schema)
        self._is_narrow = self._range.is_narrow
        self._dtype = np.dtype(f"i{self._type.bit_width // 8}")

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[pa.Array, Places]:
        """Read a number from each position."""
        found, after = datums.varint(pos, end, self.path, self._most)
        if self._is_narrow:
            least, most, what, times = self._range
            if len(found) and (found.min() < least or found.max() > most):
                bad = (found < least) | (found > most)
                wrong = found[bad]
                datums.fail(end[bad], self.path, lambda i: f"{wrong[i]} is not {what}")
                found[bad] = 0
            if times > 1:
                found *= times
        numbers = found.astype(self._dtype, copy=False)
        return pa.Array.from_buffers(self._type, len(numbers), [None, pa.py_buffer(numbers)], 0), after

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value."""
        return varint(view, pos, end)[1]


class FloatReader:
    """Reads floats and doubles."""

    values = 1

    def __init__(self, schema: ConnectSchema, path: str) -> None:
        self.path = path
        self._type = arrow_type(schema)
        self.size = self.least = self._type.bit_width // 8
        self._dtype = f"<f{self.size}"

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[pa.Array, Places]:
        """Read a number from each position."""
        after = pos + self.size
        datums.within(after, end, self.path)
        numbers = datums.words(self._dtype)[pos]
        return pa.Array.from_buffers(self._type, len(numbers), [None, pa.py_buffer(numbers)], 0), after

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value."""
        return beyond(pos, self.size, end)


class BooleanReader:
    """Reads booleans, a byte each."""

    least = size = values = 1

    def __init__(self, path: str) -> None:
        self.path = path

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[pa.Array, Places]:
        """Read a boolean from each position."""
        after = pos + 1
        datums.within(after, end, self.path)
        found = datums.data[pos]
        if (bad := (found > 1) & (pos < end)).any():
            wrong = found[bad]
            datums.fail(end[bad], self.path, lambda i: f"its byte is {wrong[i]}, and a boolean's is 0 or 1")
        bits = pa.py_buffer(np.packbits(found == 1, bitorder="little"))
        return pa.Array.from_buffers(pa.bool_(), len(found), [None, bits], 0), after

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value."""
        return beyond(pos, 1, end)
