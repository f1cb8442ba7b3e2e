"""Columns of texts in base64, as bytes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from floe_job.convert.typed.base import Places
from floe_job.exceptions import Unconvertible
from floe_job.types.text import binary_column

_ALPHABET: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_PAD, _NONE = 64, 255
_CODES: Final = np.full(256, _NONE, np.uint8)
_CODES[np.frombuffer(_ALPHABET, np.uint8)] = np.arange(64)
_CODES[ord("=")] = _PAD

_SHIFTS: Final = np.array([18, 12, 6, 0], np.uint32)


def bytes_of(texts: pa.Array) -> tuple[pa.Array, Places | None]:
    """Return the bytes of texts (large_string without nulls), and the rows that are no base64; None if all are.

    Those rows have no bytes. A text without its padding is taken, as in a column of binary.
    """
    lengths = np.diff(_offsets(texts))
    regular = _regular(texts, lengths)
    if regular.all():
        return _decoded(texts, lengths), None
    rows = np.flatnonzero(~regular)
    found: list[bytes] = []
    bad = []
    for row, text in zip(rows.tolist(), texts.take(pa.array(rows)).to_pylist(), strict=True):
        try:
            found.append(binary_column(text))
        except Unconvertible:
            found.append(b"")
            bad.append(row)
    some = texts.filter(pa.array(regular))
    joined = pa.concat_arrays([_decoded(some, lengths[regular]), pa.array(found, pa.large_binary())])
    order = np.empty(len(texts), np.int64)
    order[regular] = np.arange(len(some))
    order[rows] = len(some) + np.arange(len(rows))
    return joined.take(pa.array(order)), np.array(bad, np.int64) if bad else None


def _regular(texts: pa.Array, lengths: Places) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which texts have characters of base64 only, and padding where it belongs."""
    regular: np.ndarray[Any, np.dtype[np.bool_]] = lengths % 4 == 0
    codes = _codes(texts)
    ends = np.cumsum(lengths)
    foreign = np.flatnonzero(codes == _NONE)
    if len(foreign):
        regular[np.searchsorted(ends, foreign, "right")] = False
    pads = np.flatnonzero(codes == _PAD)
    if len(pads):
        rows = np.searchsorted(ends, pads, "right")
        counts = np.bincount(rows, minlength=len(lengths))
        regular &= counts <= 2
        regular[rows[pads < (ends - counts)[rows]]] = False
    return regular


def _decoded(texts: pa.Array, lengths: Places) -> pa.Array:
    codes = _codes(texts)
    words = ((codes & 63).reshape(-1, 4).astype(np.uint32) << _SHIFTS).sum(axis=1, dtype=np.uint32)
    data = np.stack([words >> 16, words >> 8, words], axis=1).astype(np.uint8).reshape(-1)
    sizes = lengths // 4 * 3
    pads = np.flatnonzero(codes == _PAD)
    if len(pads):
        counts = np.bincount(np.searchsorted(np.cumsum(lengths), pads, "right"), minlength=len(lengths))
        kept = np.ones(len(data), np.bool_)
        ends = np.cumsum(sizes)
        kept[ends[counts > 0] - 1] = False
        kept[ends[counts > 1] - 2] = False
        data, sizes = data[kept], sizes - counts
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return pa.Array.from_buffers(
        pa.large_binary(), len(sizes), [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    )


def _offsets(texts: pa.Array) -> Places:
    found: Places = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return found


def _codes(texts: pa.Array) -> np.ndarray[Any, np.dtype[np.uint8]]:
    offsets = _offsets(texts)
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    return _CODES[data[offsets[0] : offsets[-1]]]
