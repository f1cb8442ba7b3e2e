"""What the columns of some records say of the batches that they came in: where each ends, and whether it was compressed.

A batch that is not compressed is located in the answer as it was received, behind its header. One that is compressed was
decompressed into memory of its own, which has no header.
"""

from __future__ import annotations

from ctypes import string_at
from struct import Struct
from typing import Final, NamedTuple

import numpy as np

from floe_job.source.batch import FetchedBatch
from floe_job.source.native import librdkafka
from floe_job.source.native.memory import PAGE, columns

WIDEST_FRAME = 64
"""Bytes between two records that are neither key, value nor headers: 31 at most in format v2, 34 in older ones."""

_HEADER: Final = Struct(">qiibIhiqqqhii")
"""Of a batch in format v2, up to the number of its records."""

_MAGIC_AT, _MAGIC, _CODEC = 16, b"\x02", 7
_SMALLEST_FRAME, _LARGEST_FRAME = 5, 31
_BEFORE = _HEADER.size + _LARGEST_FRAME
_CHECKED = 8
"""Batches of one call that are checked: each costs three microseconds."""


class Stretch(NamedTuple):
    """Records that are adjacent in memory: the offset of the first, and where they begin and end."""

    offset: int
    begin: int
    end: int

    @property
    def nbytes(self) -> int:
        return self.end - self.begin


class Outline:
    """Records by the places of their values alone: a few steps for all of them.

    ``nbytes``: of keys, values and headers. ``is_exact``: whether each record has a value, so that nothing else is between
    two of them; the rest holds only then. ``last``: the last batch as far as it was seen, or several that are too close to
    be told apart.
    """

    def __init__(self, records: FetchedBatch, before: Stretch | None) -> None:
        """``before``: the ``last`` of the records before these."""
        (headers,) = columns(records.pointers, "headers_size", layout=librdkafka.ConsumedMessage)
        self._offsets = records.offsets
        self._begins = records.addresses - records.key_sizes
        ends = records.addresses + records.sizes + headers
        self.nbytes = int(ends.sum() - self._begins.sum())
        self.is_exact = bool(records.sizes.all())
        gaps = self._begins.copy()
        gaps[1:] -= ends[:-1]
        gaps[0] -= before.end if before is not None else 0
        self._gaps = gaps
        self._firsts = np.flatnonzero((gaps <= 0) | (gaps > WIDEST_FRAME))
        first = int(self._firsts[-1]) if len(self._firsts) else None
        if first is not None or before is None:
            self.last = Stretch(int(self._offsets[first or 0]), int(self._begins[first or 0]), int(ends[-1]))
        else:
            self.last = before._replace(end=int(ends[-1]))
        self._knows_first = before is not None

    def is_compressed(self) -> bool | None:
        """Return whether a batch that begins among the records was compressed; None where none was seen to begin.

        A batch in memory of its own is looked at before one that is close behind another.
        """
        far = self._firsts[(self._gaps[self._firsts] <= 0) | (self._gaps[self._firsts] > PAGE)]
        wanted = [*far[:_CHECKED].tolist(), *self._firsts[-1:].tolist()]
        known = [found for found in map(self._is_headed, wanted) if found is not None]
        return not all(known) if known else None

    def _is_headed(self, at: int) -> bool | None:
        found = _is_headed(int(self._begins[at]), int(self._offsets[at]))
        is_guess = at == 0 and not self._knows_first  # reading may begin behind the first record of a batch
        return None if is_guess and not found else found


def _is_headed(begin: int, offset: int) -> bool | None:
    """Return whether the header of a batch that is not compressed is before its first record; None if it cannot be read.

    Only the rest of a page of memory can be read for sure.
    """
    if begin % PAGE < _BEFORE:
        return None
    before = string_at(begin - _BEFORE, _BEFORE)
    last = _BEFORE - _HEADER.size - _SMALLEST_FRAME + _MAGIC_AT
    at = before.find(_MAGIC, _MAGIC_AT, last + 1)
    while at >= 0 and not _is_header(before, at - _MAGIC_AT, offset):
        at = before.find(_MAGIC, at + 1, last + 1)
    return at >= 0


def _is_header(before: bytes, at: int, offset: int) -> bool:
    base, _, _, _, _, attributes, delta, *_, count = map(int, _HEADER.unpack_from(before, at))
    return attributes & _CODEC == 0 and 0 <= offset - base <= delta and 0 < count <= delta + 1
