"""Arrays and maps of Avro, as columns of large_list and map."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from floe_job.convert.avro.blocks import BlockReader
from floe_job.convert.avro.datums import Datums, Longs
from floe_job.convert.avro.reader import Reader
from floe_job.convert.typed.base import Places


class ArrayReader:
    """Reads arrays, into large_list."""

    least = values = 1
    size = None

    def __init__(self, element: Reader, path: str) -> None:
        self.path = path
        self._blocks = BlockReader(element, path)

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[pa.Array, Places]:
        """Read an array from each position."""
        owners, elements, after = self._blocks.read(datums, pos, end)
        return pa.LargeListArray.from_arrays(pa.array(_offsets(owners, len(pos))), elements), after

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value."""
        return self._blocks.skip(view, pos, end)


class MapReader:
    """Reads maps, into map. Of a key that is there twice the last value counts, as in Java.

    ``entry``: reads structs of key and value. ``key``: which of the two is the key.
    """

    least = values = 1
    size = None

    def __init__(self, entry: Reader, key: int, path: str) -> None:
        self.path = path
        self._blocks = BlockReader(entry, path)
        self._key = key

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[pa.Array, Places]:
        """Read a map from each position."""
        owners, entries, after = self._blocks.read(datums, pos, end)
        keys, items = entries.field(self._key), entries.field(1 - self._key)
        kept = None
        if keys.null_count:
            nulls = keys.is_null().to_numpy(zero_copy_only=False)
            datums.fail(end[owners[nulls]], self.path, "it has a key that is null")
            kept = np.flatnonzero(~nulls)
            owners, keys, items = owners[kept], keys.take(pa.array(kept)), items.take(pa.array(kept))
        kept = _last_of_each(owners, keys)
        if kept is not None:
            owners, keys, items = owners[kept], keys.take(pa.array(kept)), items.take(pa.array(kept))
        offsets = pa.array(_offsets(owners, len(pos)).astype(np.int32))
        return pa.MapArray.from_arrays(offsets, keys, items), after

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value."""
        return self._blocks.skip(view, pos, end)


def _offsets(owners: Longs, count: int) -> Longs:
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(owners, minlength=count), out=offsets[1:])
    return offsets


def _last_of_each(owners: Longs, keys: pa.Array) -> Longs | None:
    """Return the entries to keep, in their order; None for all."""
    if not len(owners):
        return None
    if pa.types.is_floating(keys.type):
        keys = _bits(keys)
    codes = keys.dictionary_encode().indices.to_numpy().astype(np.int64)
    entries = owners * (int(codes.max()) + 1) + codes
    _, lasts = np.unique(entries[::-1], return_index=True)
    return None if len(lasts) == len(entries) else np.sort(len(entries) - 1 - lasts)


def _bits(keys: pa.Array) -> pa.Array:
    """Return floats as Java compares them: all NaN are equal, 0.0 and -0.0 are not."""
    numbers = keys.to_numpy()
    numbers = np.where(np.isnan(numbers), np.array(np.nan, numbers.dtype), numbers)
    return pa.array(numbers.view(np.int64 if numbers.itemsize == 8 else np.int32))
