"""Blocks of elements: of all datums the first is read, then of all that have more the second, and so on.

Where few datums have many elements left, their places are found one by one instead, and all are read at once.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from floe_job.convert.avro.datums import CUT, AvroReader, CutShort, Datums, Longs, beyond, varint
from floe_job.convert.typed.base import Places

MAX_EMPTY_ELEMENTS: Final = 256
"""Elements without a byte, such as records without fields, that a block may have."""

MAX_STEPS: Final = 8
"""Steps, through the blocks or the elements of a block, from which on it matters how many datums are left."""

EMPTY_COST: Final = 8
"""Values that an element without a byte counts as: the less a record has to have for it."""

FEW: Final = 40
"""Elements that are found one by one in the time that one step takes."""


class BlockReader:
    """Reads the blocks of arrays or maps."""

    def __init__(self, element: AvroReader, path: str) -> None:
        self.path = path
        self.element = element
        self.cost = element.values if element.least else element.values * EMPTY_COST

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[Longs, pa.Array, Places]:
        """Read all elements at each position.

        Returns the elements in their order, for each the index of the position that it belongs to, and the positions
        behind them.
        """
        reading = _Reading(self, datums, pos, end)
        active, steps = np.arange(len(pos)), 0
        while len(active):
            steps += 1
            if steps > MAX_STEPS and len(active) < FEW:
                reading.find(active)
                break
            active, counts = reading.count(active)
            reading.take(active, counts)
        return *reading.elements(), reading.pos

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind all elements. Raises CutShort."""
        while True:
            count, pos = self.header(view, pos, end)
            if not count:
                return pos
            if self.element.size is not None:
                pos = beyond(pos, count * self.element.size, end)
                continue
            for _ in range(count):
                pos = self.element.skip(view, pos, end)

    def header(self, view: memoryview, pos: int, end: int) -> tuple[int, int]:
        """Read how many elements a block has; 0 for the end. Raises CutShort."""
        count, pos = varint(view, pos, end)
        if count < 0:
            count, (_, pos) = -count, varint(view, pos, end)
        if count > self.most(end - pos):
            raise CutShort
        return count, pos

    def most(self, nbytes: int) -> int:
        """Return how many elements there can be in some bytes."""
        return nbytes // self.element.least if self.element.least else MAX_EMPTY_ELEMENTS


class _Reading:
    """The reading of the elements at some positions."""

    def __init__(self, blocks: BlockReader, datums: Datums, pos: Places, end: Places) -> None:
        self._blocks = blocks
        self._datums = datums
        self._element = blocks.element
        self.pos = pos.copy()
        self._end = end
        self._parts: list[pa.Array] = []
        self._owners: list[Longs] = []

    def count(self, rows: Longs) -> tuple[Longs, Longs]:
        """Read how many elements the next block of each row has; returns the rows that have any, and how many."""
        end = self._end[rows]
        counts, pos = self._datums.varint(self.pos[rows], end, self._blocks.path)
        sized = np.flatnonzero(counts < 0)
        if len(sized):
            counts[sized] = -counts[sized]
            _, pos[sized] = self._datums.varint(pos[sized], end[sized], self._blocks.path)
        least = self._element.least
        most = (end - pos) // least if least else MAX_EMPTY_ELEMENTS
        bad = (counts > most) | (counts < 0)
        if bad.any():
            wrong, left = counts[bad], (end - pos)[bad]
            why = "a block of {} elements, and the record {} more bytes"
            self._datums.fail(end[bad], self._blocks.path, lambda i: f"it has {why.format(wrong[i], left[i])}")
            pos[bad], counts[bad] = end[bad], 0
        self.pos[rows] = pos
        more = np.flatnonzero(counts)
        self._datums.spend(int(counts.sum()) * self._blocks.cost)
        return rows[more], counts[more]

    def take(self, rows: Longs, left: Longs) -> None:
        """Read the elements of a block of each row, ``left``: how many."""
        size, steps = self._element.size, 0
        if size is not None and len(rows):
            self._read_fixed(rows, left, size)
            return
        while len(rows):
            steps += 1
            if steps > MAX_STEPS and left.sum() < FEW * left.max():
                self.find(rows, left)
                return
            self.pos[rows] = self._read(rows, self.pos[rows])
            left = left - 1
            more = left > 0
            if self._element.least:
                ended = more & (self.pos[rows] >= self._end[rows])
                if ended.any():
                    self._datums.fail(self._end[rows[ended]], self._blocks.path, CUT)
                    more &= ~ended
            rows, left = rows[more], left[more]

    def find(self, rows: Longs, left: Longs | None = None) -> None:
        """Find the elements of each row, ``left`` of them, or else all of its further blocks, and read them."""
        view, starts, owners = memoryview(self._datums.data.data), list[int](), list[int]()
        for index, row in enumerate(rows.tolist()):
            pos, end = int(self.pos[row]), int(self._end[row])
            begun = len(starts)
            try:
                if left is None:
                    pos = self._find_blocks(view, pos, end, starts)
                else:
                    pos = self._find_elements(view, pos, end, int(left[index]), starts)
            except CutShort:
                del starts[begun:]
                self._datums.fail(self._end[[row]], self._blocks.path, CUT)
                pos = end
            self.pos[row] = pos
            owners.append(len(starts) - begun)
        if starts:
            self._read(np.repeat(rows, owners), np.array(starts, np.int64))

    def _find_blocks(self, view: memoryview, pos: int, end: int, starts: list[int]) -> int:
        while True:
            count, pos = self._blocks.header(view, pos, end)
            if not count:
                return pos
            self._datums.spend(count * self._blocks.cost)
            pos = self._find_elements(view, pos, end, count, starts)

    def _find_elements(self, view: memoryview, pos: int, end: int, count: int, starts: list[int]) -> int:
        skip = self._element.skip
        for _ in range(count):
            starts.append(pos)
            pos = skip(view, pos, end)
        return pos

    def _read_fixed(self, rows: Longs, counts: Longs, size: int) -> None:
        owners = np.repeat(rows, counts)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        self._read(owners, self.pos[owners] + within * size)
        self.pos[rows] += counts * size

    def _read(self, owners: Longs, pos: Places) -> Places:
        elements, after = self._element.read(self._datums, pos, self._end[owners])
        self._parts.append(elements)
        self._owners.append(owners)
        return after

    def elements(self) -> tuple[Longs, pa.Array]:
        """Return the elements that were read, in their order, and which row each belongs to."""
        if not self._parts:
            self._read(np.zeros(0, np.int64), np.zeros(0, np.int64))
        if len(self._parts) == 1:
            return self._owners[0], self._parts[0]
        owners = np.concatenate(self._owners)
        order = np.argsort(owners, kind="stable")
        return owners[order], pa.concat_arrays(self._parts).take(pa.array(order))
