"""Records and unions: structs, and what may be null."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from floe_job.convert.avro.datums import Datums, Longs, Mask
from floe_job.convert.avro.numbers import MAX_INT
from floe_job.convert.avro.reader import CutShort, Reader, varint
from floe_job.convert.typed.base import Places

_ABSENT: Final = -1


class RecordReader:
    """Reads records: one field after the other. A null that was sent stays one, whatever the default of its field."""

    def __init__(self, kind: pa.DataType, fields: Sequence[Reader], path: str) -> None:
        self.path = path
        self.least = sum(field.least for field in fields)
        self.values = 1 + sum(field.values for field in fields)
        self.size = sum(field.size or 0 for field in fields) if all(f.size is not None for f in fields) else None
        self._type = kind
        self._fields = fields

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[pa.Array, Places]:
        """Read a record from each position."""
        after = pos if self._fields else pos.copy()
        columns = []
        for field in self._fields:
            column, after = field.read(datums, after, end)
            columns.append(column)
        return struct(self._type, len(pos), columns), after

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value."""
        for field in self._fields:
            pos = field.skip(view, pos, end)
        return pos


class NullReader:
    """Reads nulls, which have no bytes. Only a branch of a union is null."""

    least = size = values = 0
    path = ""

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[pa.Array, Places]:
        """Read nothing from each position."""
        return pa.nulls(len(pos)), pos.copy()

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value."""
        return pos


class UnionReader:
    """Reads unions.

    Of null and one type that is the type, which may be null; of others a struct with a field for each branch but null.
    """

    size = None

    def __init__(self, kind: pa.DataType, branches: Sequence[Reader], path: str, *, is_struct: bool) -> None:
        self.path = path
        self.least = 1
        self.values = 1 + sum(branch.values for branch in branches)
        self._type = kind
        self._branches = branches
        self._is_struct = is_struct

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[pa.Array, Places]:
        """Read a value of one of the branches from each position."""
        chosen, after = datums.varint(pos, end, self.path, MAX_INT)
        count = len(self._branches)
        bad = chosen.view(np.uint64) >= count
        if bad.any():
            wrong = chosen[bad]
            datums.fail(end[bad], self.path, lambda i: f"it is branch {wrong[i]} of a union of {count}")
            after[bad] = end[bad]
            chosen[bad] = _ABSENT
        columns: list[pa.Array] = []
        for number, branch in enumerate(self._branches):
            if not isinstance(branch, NullReader):
                kind = self._type.field(len(columns)).type if self._is_struct else self._type
                columns.append(self._branch(datums, branch, kind, chosen == number, after, end))
        if not self._is_struct:
            return columns[0], after
        nulls = np.isin(chosen, [i for i, branch in enumerate(self._branches) if isinstance(branch, NullReader)])
        return struct(self._type, len(pos), columns, nulls), after

    def _branch(
        self, datums: Datums, branch: Reader, kind: pa.DataType, here: Mask, after: Places, end: Places
    ) -> pa.Array:
        """Read the values of one branch, null for the others; ``after`` is moved behind them."""
        rows = np.flatnonzero(here)
        if not len(rows):
            return pa.nulls(len(here), kind)
        if len(rows) == len(here):
            column, after[:] = branch.read(datums, after, end)
            return column
        column, after[rows] = branch.read(datums, after[rows], end[rows])
        return spread(column, rows, here)

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value."""
        chosen, pos = varint(view, pos, end)
        if not 0 <= chosen < len(self._branches):
            raise CutShort
        return self._branches[chosen].skip(view, pos, end)


def struct(kind: pa.DataType, count: int, columns: Sequence[pa.Array], nulls: Mask | None = None) -> pa.Array:
    """Make a column of structs."""
    valid = None if nulls is None or not nulls.any() else pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    return pa.Array.from_buffers(kind, count, [valid], children=list(columns))


def spread(column: pa.Array, rows: Longs, here: Mask) -> pa.Array:
    """Return a column of more rows: those of ``column`` in ``rows``, null in the others."""
    places = np.zeros(len(here), np.int64)
    places[rows] = np.arange(len(rows))
    return column.take(pa.array(places, mask=~here))
