"""Batches of Kafka's in memory: what was decompressed together is located together.

librdkafka does not report which records came in one batch, but returns them where it has decompressed them.
"""

from __future__ import annotations

from ctypes import string_at
from typing import NamedTuple

import numpy as np

from floe_job.source.batch import Batch
from floe_job.source.messages import headers_sizes
from floe_job.source.native.memory import Words, columns
from floe_job.source.native.outline import WIDEST_FRAME, Outline, Stretch
from floe_job.source.native.record_frames import NO_HEADERS, NULL, RecordShape, is_continued

CLOSE = 4_000
"""Bytes between two records up to which they count as one batch's until that is checked. Less than a page of memory, so
the bytes between can always be read."""

SURE = 14
"""Bytes between two records that can only be one's frame: between two batches are headers of a batch, or of its memory."""


class Measured(NamedTuple):
    """Bytes of some records, keys and headers included, and their batches, as far as these were seen.

    ``is_unsure``: whether one of the batches may be too large, which cannot be determined. ``is_compressed``: whether one of
    them was compressed; None where that was not seen.
    """

    nbytes: int
    batches: list[Stretch]
    is_unsure: bool = False
    is_compressed: bool | None = None

    @property
    def largest(self) -> Stretch | None:
        """The largest of the batches; None where no record has a key or a value."""
        return max(self.batches, key=lambda batch: batch.nbytes, default=None)


class KafkaBatch:
    """Takes records in the order of their offsets, and measures the batches that they came in.

    Adjacent batches that are smaller than ``large`` together may be measured as one.
    """

    def __init__(self, large: int) -> None:
        """``large``: bytes, decompressed, from which on it matters how large a batch is."""
        self._large = large
        self._last: Stretch | None = None

    def measure(self, records: Batch, ignored: int = 0) -> Measured:
        """Return the size of records, and their batches; none where all have less than ``ignored`` bytes together."""
        outline = Outline(records, self._last)
        if outline.is_exact and outline.nbytes + (self._last.nbytes if self._last else 0) < ignored:
            self._last = outline.last
            return Measured(outline.nbytes, [], is_compressed=outline.is_compressed())
        found = self._measured(records)
        return found._replace(is_compressed=outline.is_compressed()) if outline.is_exact else found

    def _measured(self, records: Batch) -> Measured:
        places = _Places(records)
        bare = np.ones(len(records), np.bool_)
        bare[places.rows] = False
        nbytes = int(headers_sizes(records.pointers[bare]).sum())  # of records that have no key and no value
        if not len(places.rows):
            return Measured(nbytes, [])
        breaks = places.breaks()
        found = self._stretches(places, breaks)
        if max(one.nbytes for one in found) >= self._large:
            found = self._stretches(places, np.union1d(breaks, places.false_links()).astype(np.int64))
        nbytes += sum(one.nbytes for one in found[1:]) + found[0].end - int(places.begins[0])
        self._last = found[-1]
        return Measured(nbytes, found)

    def _stretches(self, places: _Places, breaks: Words) -> list[Stretch]:
        """Return the records from one break to the next; the first stretch may continue where the last call ended."""
        firsts, lasts = np.append(0, breaks + 1), np.append(breaks, len(places.rows) - 1)
        columns = places.offsets[firsts].tolist(), places.begins[firsts].tolist(), places.ends[lasts].tolist()
        found = [Stretch(*one) for one in zip(*columns, strict=True)]
        last = self._last
        if last is not None and 0 < found[0].begin - last.end <= WIDEST_FRAME:
            found[0] = Stretch(last.offset, last.begin, found[0].end)
        return found


class _Places:
    """Where records with a key or a value are located: their places in the batch, their offsets, where they begin and end."""

    def __init__(self, records: Batch) -> None:
        self._records = records
        # what is empty has no address in the batch
        (keys,) = columns(records.pointers, "key")
        self._keys = keys = np.where(records.key_sizes, keys, 0)
        self._values = values = np.where(records.sizes, records.addresses, 0)
        self.rows = np.flatnonzero(keys | values)
        self.offsets = records.offsets[self.rows]
        self.begins = np.where(keys, keys, values)[self.rows]
        self._ends = np.where(values, values + records.sizes, keys + records.key_sizes)[self.rows]
        self._gaps = self.begins[1:] - self._ends[:-1]
        self._close = (self._gaps > 0) & (self._gaps <= CLOSE)
        self._headed = headed = np.append(np.flatnonzero(~self._close), len(self.rows) - 1)[: len(self.rows)]
        self.ends = self._ends.copy()
        self.ends[headed] += headers_sizes(records.pointers[self.rows[headed]]) + (values[self.rows[headed]] == 0)

    def breaks(self) -> Words:
        """Return after which records something else begins: the gap is larger than some headers."""
        apart = self._headed[:-1].tolist()
        return np.array([at for at in apart if not self._is_continued_behind_headers(at)], np.int64)

    def false_links(self) -> list[int]:
        """Return after which records something else begins although it is close."""
        links = np.flatnonzero(self._close & (self._gaps > SURE)).tolist()
        return [
            at
            for at in links
            if not is_continued(
                string_at(int(self._ends[at]), int(self._gaps[at])), self._shapes(self.rows[at], self.rows[at + 1])
            )
        ]

    def _is_continued_behind_headers(self, at: int) -> bool:
        left = int(self.begins[at + 1] - self.ends[at])
        if not 0 < left <= WIDEST_FRAME:
            return False
        first, *others = self._shapes(self.rows[at], self.rows[at + 1])
        return is_continued(NO_HEADERS + string_at(int(self.ends[at]), left), [first._replace(value=0), *others])

    def _shapes(self, first: int, last: int) -> list[RecordShape]:
        rows, records = slice(first, last + 1), self._records
        keys = np.where(self._keys[rows], records.key_sizes[rows], NULL).tolist()
        values = np.where(self._values[rows], records.sizes[rows], NULL).tolist()
        return [RecordShape(*one) for one in zip(records.offsets[rows].tolist(), keys, values, strict=True)]
