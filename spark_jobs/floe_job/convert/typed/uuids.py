"""Columns of UUIDs as text into columns of their 16 bytes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from floe_job.convert.typed.leaves import Inexact

_LENGTH: Final = 36
_DASHES: Final = (8, 13, 18, 23)
_DIGITS: Final = tuple(place for place in range(_LENGTH) if place not in _DASHES)
_NONE: Final = 255
_VALUES: Final = np.full(256, _NONE, np.uint8)
"""The value of each hexadecimal digit."""
for _value, _digit in enumerate("0123456789abcdef"):
    _VALUES[[ord(_digit), ord(_digit.upper())]] = _value


def uuids(column: pa.Array, arrow: pa.DataType) -> tuple[pa.Array, Inexact]:
    """Return the UUIDs of texts (large_string), and the rows that are none in the canonical form."""
    valid: np.ndarray[Any, np.dtype[np.bool_]] = column.is_valid().to_numpy(zero_copy_only=False)
    _, ends, text = column.buffers()
    offsets = np.frombuffer(ends, np.int64)[column.offset : column.offset + len(column) + 1] if len(column) else _EMPTY
    rows = np.flatnonzero(valid & (np.diff(offsets) == _LENGTH))
    found = np.zeros((len(column), 16), np.uint8)
    good = np.zeros(len(column), np.bool_)
    if len(rows):
        letters = np.frombuffer(text, np.uint8)[offsets[rows][:, None] + np.arange(_LENGTH)]
        values = _VALUES[letters[:, _DIGITS]]
        good[rows] = (letters[:, _DASHES] == ord("-")).all(axis=1) & (values != _NONE).all(axis=1)
        found[rows] = (values[:, ::2] << 4) | (values[:, 1::2] & 15)
    buffers = [pa.py_buffer(np.packbits(good, bitorder="little")), pa.py_buffer(found)]
    made = pa.Array.from_buffers(pa.binary(16), len(column), buffers)
    bad = valid & ~good
    if made.type != arrow:
        made = arrow.wrap_array(made)
    return made, bad if bad.any() else None


_EMPTY: Final = np.zeros(1, np.int64)
