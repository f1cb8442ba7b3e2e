"""Decimals: the unscaled value in two's complement, big-endian, in bytes or in a fixed."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from floe_job.connect.arrow import MAX_DIGITS, arrow_type
from floe_job.connect.schema import ConnectSchema
from floe_job.convert.avro.byte_strings import read_sizes
from floe_job.convert.avro.datums import Datums, Longs
from floe_job.convert.avro.reader import beyond, varint
from floe_job.convert.typed.base import Places

_HIGH, _LOW = divmod(10**MAX_DIGITS, 1 << 64)
_WORD: Final = 8
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
        low, high = self._halves(datums, after, sizes)
        bad = self._too_large(datums, after, sizes, low, high)
        if bad is not None:
            datums.fail(end[bad], self.path, _TOO_LARGE)
            low[bad] = high[bad] = 0
        halves = np.empty((len(pos), 2), np.int64)
        halves[:, 0], halves[:, 1] = low, high
        return pa.Array.from_buffers(self._type, len(pos), [None, pa.py_buffer(halves)], 0), after

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value."""
        size = self.size
        if size is None:
            size, pos = varint(view, pos, end)
        return beyond(pos, size, end)

    def _halves(self, datums: Datums, after: Places, sizes: Longs) -> tuple[Longs, Longs]:
        """Return the lower and the higher half of what is in the last 16 bytes, with the sign of what is in none."""
        words = datums.words(">i8")
        low = _last_bytes(words[np.maximum(after - _WORD, 0)].astype(np.int64), np.minimum(sizes, _WORD))
        high = low >> 63
        wide = np.flatnonzero(sizes > _WORD)
        if len(wide):
            upper = words[np.maximum(after[wide] - 2 * _WORD, 0)].astype(np.int64)
            high[wide] = _last_bytes(upper, np.minimum(sizes[wide] - _WORD, _WORD))
        return low, high

    def _too_large(self, datums: Datums, after: Places, sizes: Longs, low: Longs, high: Longs) -> Longs | None:
        wide = np.flatnonzero(sizes >= 2 * _WORD)
        if not len(wide):
            return None
        lower, upper = low[wide].view(np.uint64), high[wide]
        # -10^38 is (-_HIGH - 1, 2^64 - _LOW)
        beyond_most = (upper > _HIGH) | ((upper == _HIGH) & (lower >= np.uint64(_LOW)))
        beyond_least = (upper < -_HIGH - 1) | ((upper == -_HIGH - 1) & (lower <= np.uint64((1 << 64) - _LOW)))
        bad = beyond_most | beyond_least
        for row in np.flatnonzero(sizes[wide] > 2 * _WORD).tolist():
            begin, stop = int(after[wide[row]] - sizes[wide[row]]), int(after[wide[row]]) - 2 * _WORD
            sign = 255 if upper[row] < 0 else 0
            bad[row] |= bool((datums.data[begin:stop] != sign).any())
        return wide[bad] if bad.any() else None


def _last_bytes(words: Longs, sizes: Longs) -> Longs:
    """Keep the last bytes of words, with their sign."""
    shift = (_WORD - sizes) * 8
    full = np.minimum(shift, 63)
    return (words << full) >> full
