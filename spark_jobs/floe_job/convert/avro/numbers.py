"""Numbers, dates and times: from Avro's varints and IEEE floats to Arrow's columns."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from floe_job.connect import logical
from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.avro.datums import MAX_VARINT, Datums
from floe_job.convert.avro.reader import beyond, varint
from floe_job.convert.typed.base import Places

_LONG: Final = (1 << 63) - 1
_DAY_MS: Final = 86_400_000

MAX_INT: Final = 5
"""Bytes of an int."""


class _Whole(NamedTuple):
    """Of a type of whole numbers: the least and the largest, what they are, and by what they are multiplied."""

    least: int
    most: int
    what: str
    times: int = 1


_MILLIS: Final = _Whole(-(_LONG // 1000), _LONG // 1000, "a timestamp that a table's column can hold", 1000)
_LOGICAL: Final = {
    logical.TIME: _Whole(0, _DAY_MS - 1, "a time of a day in ms", 1000),
    logical.TIMESTAMP: _MILLIS,
    logical.AVRO_TIME_MICROS: _Whole(0, _DAY_MS * 1000 - 1, "a time of a day in µs"),
    logical.AVRO_LOCAL_TIMESTAMP_MILLIS: _MILLIS,
}
_WHOLE: Final = {
    Kind.INT8: _Whole(-(1 << 7), (1 << 7) - 1, "an int8"),
    Kind.INT16: _Whole(-(1 << 15), (1 << 15) - 1, "an int16"),
    Kind.INT32: _Whole(-(1 << 31), (1 << 31) - 1, "an int"),
    Kind.INT64: _Whole(-_LONG - 1, _LONG, "a long"),
}


class WholeReader:
    """Reads ints and longs, and the logical types that they carry."""

    least = values = 1
    size = None

    def __init__(self, schema: ConnectSchema, path: str) -> None:
        self.path = path
        self._most = MAX_VARINT if schema.kind is Kind.INT64 else MAX_INT
        self._type = arrow_type(schema)
        self._range = _LOGICAL.get(schema.name or "", _WHOLE[schema.kind])
        self._is_narrow = self._range.most < _LONG
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
