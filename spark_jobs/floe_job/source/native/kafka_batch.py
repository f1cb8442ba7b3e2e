"""Batches of Kafka's in memory: what was decompressed together is located together.

librdkafka does not report which records came in one batch, but returns them where it has decompressed them.
"""

from __future__ import annotations

from ctypes import string_at
from typing import NamedTuple

import numpy as np

from floe_job.source.batch import FetchedBatch
from floe_job.source.messages import headers_sizes
from floe_job.source.native.memory import PAGE, Words, columns
from floe_job.source.native.outline import WIDEST_FRAME, Outline, Stretch
from floe_job.source.native.record_frames import NO_HEADERS, NULL, RecordShape, is_continued

CLOSE = 4_000
"""Bytes between two records up to which they count as one batch's until that is checked. Less than a page of memory, so
the bytes between can always be read."""

_MOST_IN_FRAME = 16
"""Records that are kept of those that ended a call: WIDEST_FRAME has no place for as many with neither key nor value."""

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
        self._tail: list[RecordShape] = []

    def measure(self, records: FetchedBatch, ignored: int = 0) -> Measured:
        """Return the size of records, and their batches; none where all have less than ``ignored`` bytes together."""
        outline = Outline(records, self._last)
        if outline.is_exact and outline.nbytes + (self._last.nbytes if self._last else 0) < ignored:
            self._last, self._tail = outline.last, _shapes(records, len(records) - 1)
            return Measured(outline.nbytes, [], is_compressed=outline.is_compressed())
        found = self._measured(records)
        return found._replace(is_compressed=outline.is_compressed()) if outline.is_exact else found

    def _measured(self, records: FetchedBatch) -> Measured:
        places = _Places(records)
        bare = np.ones(len(records), np.bool_)
        bare[places.rows] = False
        nbytes = int(headers_sizes(records.pointers[bare]).sum())  # of records that have no key and no value
        if not len(places.rows):
            self._tail = [*self._tail, *_shapes(records, 0)][:_MOST_IN_FRAME]
            return Measured(nbytes, [])
        before = self._last if self._last and places.continue_from(self._last, self._tail) else None
        breaks = places.breaks()
        found = places.stretches(breaks, before)
        if max(one.nbytes for one in found) >= self._large:
            found = places.stretches(np.union1d(breaks, places.false_links()).astype(np.int64), before)
        nbytes += sum(one.nbytes for one in found[1:]) + found[0].end - int(places.begins[0])
        self._last, self._tail = found[-1], _shapes(records, int(places.rows[-1]))[:_MOST_IN_FRAME]
        return Measured(nbytes, found)


class _Places:
    """Where records with a key or a value are located: their places in the batch, their offsets, where they begin and end."""

    def __init__(self, records: FetchedBatch) -> None:
        self._records = records
        # what is empty has no address in the batch
        (keys,) = columns(records.pointers, "key")
        keys = np.where(records.key_sizes, keys, 0)
        values = np.where(records.sizes, records.addresses, 0)
        self.rows = np.flatnonzero(keys | values)
        self.offsets = records.offsets[self.rows]
        self.begins = np.where(keys, keys, values)[self.rows]
        self._ends = np.where(values, values + records.sizes, keys + records.key_sizes)[self.rows]
        self._gaps = self.begins[1:] - self._ends[:-1]
        self._close = (self._gaps > 0) & (self._gaps <= CLOSE)
        self._headed = headed = np.append(np.flatnonzero(~self._close), len(self.rows) - 1)[: len(self.rows)]
        self.ends = self._ends.copy()
        self.ends[headed] += headers_sizes(records.pointers[self.rows[headed]]) + (values[self.rows[headed]] == 0)

    def stretches(self, breaks: Words, before: Stretch | None) -> list[Stretch]:
        """Return the records from one break to the next; the first stretch continues ``before``."""
        firsts, lasts = np.append(0, breaks + 1), np.append(breaks, len(self.rows) - 1)
        columns = self.offsets[firsts].tolist(), self.begins[firsts].tolist(), self.ends[lasts].tolist()
        found = [Stretch(*one) for one in zip(*columns, strict=True)]
        return found if before is None else [before._replace(end=found[0].end), *found[1:]]

    def continue_from(self, last: Stretch, tail: list[RecordShape]) -> bool:
        """Return whether these records are of the batch that the ones before them ended with.

        ``tail``: the last of those that has a key or a value, and what is behind it. Its memory may be released already: a
        page that is not the first record's own cannot be read, and it counts as one batch then.
        """
        left = int(self.begins[0]) - last.end
        if not 0 < left <= WIDEST_FRAME:
            return False
        if int(self.begins[0]) % PAGE < left:
            return True
        return _is_frame(last.end, left, [*tail, *_shapes(self._records, 0, int(self.rows[0]))])

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
            if not is_continued(string_at(int(self._ends[at]), int(self._gaps[at])), self._shapes(at))
        ]

    def _is_continued_behind_headers(self, at: int) -> bool:
        left = int(self.begins[at + 1] - self.ends[at])
        return 0 < left <= WIDEST_FRAME and _is_frame(int(self.ends[at]), left, self._shapes(at))

    def _shapes(self, at: int) -> list[RecordShape]:
        """Return the shapes from a record with a key or a value to the next."""
        return _shapes(self._records, int(self.rows[at]), int(self.rows[at + 1]))


def _is_frame(begin: int, nbytes: int, records: list[RecordShape]) -> bool:
    """Return whether memory behind the first record's headers is the frame of those that follow it in its batch."""
    first, *others = records
    return is_continued(NO_HEADERS + string_at(begin, nbytes), [first._replace(value=0), *others])


def _shapes(records: FetchedBatch, first: int, last: int | None = None) -> list[RecordShape]:
    """Return the shapes of some records, both ends included."""
    rows = slice(first, None if last is None else last + 1)
    columns = records.offsets[rows].tolist(), records.key_sizes[rows].tolist(), records.sizes[rows].tolist()
    return [RecordShape(offset, key or NULL, value or NULL) for offset, key, value in zip(*columns, strict=True)]
