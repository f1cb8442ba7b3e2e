"""Columns of numbers with schemas: decimals from their unscaled values, and whole numbers."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from floe_job.connect import logical
from floe_job.connect.arrow import MAX_DIGITS
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.typed.base import Places

# Columns of decimals from their unscaled values: two's complement, big-endian, of any number of bytes.


Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Longs = np.ndarray[Any, np.dtype[np.int64]]

_HIGH, _LOW = divmod(10**MAX_DIGITS, 1 << 64)
_WORD: Final = 8


def decimals(data: Bytes, words: Any, ends: Places, sizes: Longs, kind: pa.DataType) -> tuple[pa.Array, Places | None]:
    """Return a column of decimal128, and the rows of more digits than that has, which are zero; None for no such rows.

    ``words``: the buffer as big-endian numbers of 8 bytes that begin at each byte. Before the first value, 16 bytes of it may
    be read. ``ends``, ``sizes``: where each value ends, and how many bytes it has: what has none is no decimal.
    """
    low, high = _halves(words, ends, sizes)
    bad = _too_large(data, ends, sizes, low, high)
    if bad is not None:
        low[bad] = high[bad] = 0
    halves = np.empty((len(ends), 2), np.int64)
    halves[:, 0], halves[:, 1] = low, high
    return pa.Array.from_buffers(kind, len(ends), [None, pa.py_buffer(halves)], 0), bad


def _halves(words: Any, ends: Places, sizes: Longs) -> tuple[Longs, Longs]:
    """Return the lower and the higher half of what is in the last 16 bytes, with the sign of what is in none."""
    low = _last_bytes(words[np.maximum(ends - _WORD, 0)].astype(np.int64), np.minimum(sizes, _WORD))
    high = low >> 63
    wide = np.flatnonzero(sizes > _WORD)
    if len(wide):
        upper = words[np.maximum(ends[wide] - 2 * _WORD, 0)].astype(np.int64)
        high[wide] = _last_bytes(upper, np.minimum(sizes[wide] - _WORD, _WORD))
    return low, high


def _too_large(data: Bytes, ends: Places, sizes: Longs, low: Longs, high: Longs) -> Longs | None:
    wide = np.flatnonzero(sizes >= 2 * _WORD)
    if not len(wide):
        return None
    lower, upper = low[wide].view(np.uint64), high[wide]
    # -10^38 is (-_HIGH - 1, 2^64 - _LOW)
    beyond_most = (upper > _HIGH) | ((upper == _HIGH) & (lower >= np.uint64(_LOW)))
    beyond_least = (upper < -_HIGH - 1) | ((upper == -_HIGH - 1) & (lower <= np.uint64((1 << 64) - _LOW)))
    bad = beyond_most | beyond_least
    for row in np.flatnonzero(sizes[wide] > 2 * _WORD).tolist():
        begin, stop = int(ends[wide[row]] - sizes[wide[row]]), int(ends[wide[row]]) - 2 * _WORD
        sign = 255 if upper[row] < 0 else 0
        bad[row] |= bool((data[begin:stop] != sign).any())
    return wide[bad] if bad.any() else None


def _last_bytes(words: Longs, sizes: Longs) -> Longs:
    """Keep the last bytes of words, with their sign."""
    shift = (_WORD - sizes) * 8
    full = np.minimum(shift, 63)
    return (words << full) >> full


# The ranges of whole numbers, and of the logical types that they carry.


LONG: Final = (1 << 63) - 1
_DAY_MS: Final = 86_400_000


class WholeRange(NamedTuple):
    """The least and the largest number, what such a number is, and by what it is multiplied for Arrow's type."""

    least: int
    most: int
    what: str
    times: int = 1

    @property
    def is_narrow(self) -> bool:
        """Return whether there are longs that it does not have."""
        return self.most < LONG


_MILLIS: Final = WholeRange(-(LONG // 1000), LONG // 1000, "a timestamp that a table's column can hold", 1000)
_LOGICAL: Final = {
    (Kind.INT32, logical.TIME): WholeRange(0, _DAY_MS - 1, "a time of a day in ms", 1000),
    (Kind.INT64, logical.TIMESTAMP): _MILLIS,
    (Kind.INT64, logical.AVRO_TIME_MICROS): WholeRange(0, _DAY_MS * 1000 - 1, "a time of a day in µs"),
    (Kind.INT64, logical.AVRO_LOCAL_TIMESTAMP_MILLIS): _MILLIS,
}
_WHOLE: Final = {
    Kind.INT8: WholeRange(-(1 << 7), (1 << 7) - 1, "an int8"),
    Kind.INT16: WholeRange(-(1 << 15), (1 << 15) - 1, "an int16"),
    Kind.INT32: WholeRange(-(1 << 31), (1 << 31) - 1, "an int"),
    Kind.INT64: WholeRange(-LONG - 1, LONG, "a long"),
}


def range_of(schema: ConnectSchema) -> WholeRange:
    """Return the range of a schema of int8, int16, int32 or int64."""
    return _LOGICAL.get((schema.kind, schema.name or ""), _WHOLE[schema.kind])
