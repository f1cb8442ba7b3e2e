"""Batches of Kafka's as they lie in memory: what was decompressed together lies together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from floe_job.consume.batch import Batch

WIDEST_FRAME = 64
"""Bytes between two values of a batch, beside the key: lengths, times and no more than a short header."""


class Stretch(NamedTuple):
    """Values that lie behind each other: the offset of the first, and where they begin and end."""

    offset: int
    begin: int
    end: int

    @property
    def octets(self) -> int:
        return self.end - self.begin


class KafkaBatch:
    """Follows records in the order of their offsets, and tells how large the batches are that they came in.

    A batch whose records have long headers shows as several.
    """

    def __init__(self) -> None:
        self._last: Stretch | None = None

    def largest(self, records: Batch) -> Stretch | None:
        """Return the largest stretch that has some of the records; None where none has a value."""
        there = np.flatnonzero(records.addresses)
        if not len(there):
            return None
        begins = records.addresses[there]
        ends = begins + records.sizes[there]
        gaps = begins[1:] - ends[:-1]
        breaks = np.flatnonzero((gaps < 0) | (gaps > WIDEST_FRAME + records.key_sizes[there][1:]))
        firsts, lasts = np.append(0, breaks + 1), np.append(breaks, len(there) - 1)
        starts, offsets = begins[firsts], records.offsets[there][firsts]
        last, gap = self._last, int(begins[0]) - (self._last.end if self._last else 0)
        if last is not None and 0 <= gap <= WIDEST_FRAME + int(records.key_sizes[there][0]):
            starts[0], offsets[0] = last.begin, last.offset
        sizes = ends[lasts] - starts
        most = int(sizes.argmax())
        self._last = Stretch(int(offsets[-1]), int(starts[-1]), int(ends[-1]))
        return Stretch(int(offsets[most]), int(starts[most]), int(ends[lasts][most]))
