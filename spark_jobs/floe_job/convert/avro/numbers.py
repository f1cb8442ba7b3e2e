"""Numbers, dates and times: from Avro's varints and IEEE floats to Arrow's columns."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.avro.datums import MAX_VARINT, Datums
from floe_job.convert.avro.reader import beyond, varint
from floe_job.convert.typed.base import Places
from floe_job.convert.typed.whole_numbers import range_of

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
