"""Values of records as a column of Arrow's, and a column as values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from floe_job.source.values import Values

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
