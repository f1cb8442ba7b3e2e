"""Batches of JSON records into Arrow rows: columnar where it can be, record by record where it must."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema

from floe_job.decode.arrays import reshape, storage_type
from floe_job.decode.carriers import NotExact
from floe_job.decode.columnar import ColumnarReader
from floe_job.decode.results import Decoded, Rejected
from floe_job.decode.rows import RowReader
from floe_job.exceptions import InvalidRecord
from floe_job.needs import SchemaNeeds

CHUNK_BYTES = 1_500_000
LARGEST_CHUNK = 8192
SMALLEST_CHUNK = 32
MOST_PIECES = 64


class JsonDecoder:
    """Decodes the records of one table.

    ``needs`` accumulates over all calls the columns that records bring and the table lacks. While there are some, the
    rows are of no use (the file could not be closed with final field ids): the caller reads on for the other needs.
    """

    def __init__(self, schema: Schema | None, *, evolve: bool, create: bool) -> None:
        """Decode into ``schema``; None for a table yet to be created, which makes every column a need."""
        if schema is None and not create:
            problem = "the table does not exist and is not to be created: a schema is needed"
            raise ValueError(problem)
        self.needs = SchemaNeeds()
        self._evolve = evolve or schema is None
        self._schema = schema or Schema()
        self._arrow_schema = schema_to_pyarrow(schema) if schema else None
        self._rows = RowReader(self._schema, self.needs, evolve=self._evolve)
        self._columnar = self._columnar_reader()
        self._chunk = LARGEST_CHUNK

    def decode(self, values: Sequence[bytes]) -> Decoded:
        """Decode record values, none of them None. A rejected record leaves the others, and the needs, alone."""
        batch = _Batch(values, most=_rows_per_chunk(values))
        while batch.position < len(values):
            if batch.position == batch.suspect:
                self._read_rows(batch, batch.position + 1)
            else:
                self._read_chunk(batch)
        return Decoded(self._table(batch.pieces), tuple(batch.rejected), batch.fast)

    def _read_chunk(self, batch: _Batch) -> None:
        """Try columns; on failure try the records before the obstacle, and in the end read them one by one.

        The size shrinks by failures and grows by whole chunks, so that rare bad records cost little, and constant ones
        (every record needs the exact path) one short attempt in SMALLEST_CHUNK.
        """
        end = batch.end(self._chunk)
        try:
            piece = self._columnar.read(batch.values[batch.position : end])
        except NotExact as inexact:
            size = end - batch.position
            if size <= SMALLEST_CHUNK:
                self._read_rows(batch, end)
            else:
                batch.suspect = None if inexact.row is None else batch.position + inexact.row
            self._chunk = max(SMALLEST_CHUNK, min(size, self._chunk) // 4)
            return
        if end - batch.position >= self._chunk:
            self._chunk = min(LARGEST_CHUNK, self._chunk * 2)
        batch.accept(piece, end)

    def _read_rows(self, batch: _Batch, end: int) -> None:
        rows = []
        before = self.needs.columns
        for index in range(batch.position, end):
            try:
                rows.append(self._rows.read(batch.values[index]))
            except InvalidRecord as error:
                batch.rejected.append(Rejected(index, error.stage, error.reason))
        batch.fast = False
        batch.accept(self._array(rows), end)
        if self.needs.columns is not before:
            self._columnar = self._columnar_reader()

    def _columnar_reader(self) -> ColumnarReader:
        return ColumnarReader(self._schema, self.needs, evolve=self._evolve)

    def _array(self, rows: list[list[Any]]) -> pa.StructArray | None:
        if self._arrow_schema is None or not rows:
            return None
        fields = list(self._arrow_schema)
        columns = (list(column) for column in zip(*rows, strict=True))
        arrays = [
            reshape(pa.array(column, storage_type(field.type)), field.type)
            for field, column in zip(fields, columns, strict=True)
        ]
        return pa.StructArray.from_arrays(arrays, fields=fields)

    def _table(self, pieces: list[pa.StructArray]) -> pa.Table | None:
        if self._arrow_schema is None:
            return None
        batches = [pa.RecordBatch.from_arrays(piece.flatten(), schema=self._arrow_schema) for piece in pieces]
        table = pa.Table.from_batches(batches, self._arrow_schema)
        return table.combine_chunks() if len(batches) > MOST_PIECES else table


@dataclass
class _Batch:
    """How far a batch is decoded. ``suspect`` is a record that the columnar path named as its obstacle."""

    values: Sequence[bytes]
    most: int
    position: int = 0
    suspect: int | None = None
    fast: bool = True
    pieces: list[pa.StructArray] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)

    def end(self, chunk: int) -> int:
        end = min(self.position + min(chunk, self.most), len(self.values))
        return end if self.suspect is None or self.suspect < self.position else min(end, self.suspect)

    def accept(self, piece: pa.StructArray | None, end: int) -> None:
        if piece is not None:
            self.pieces.append(piece)
        self.position = end


def _rows_per_chunk(values: Sequence[bytes]) -> int:
    """Keep a chunk within the processor's cache: a batch parsed at once takes twice the time."""
    return max(1, CHUNK_BYTES * len(values) // max(1, sum(map(len, values))))
