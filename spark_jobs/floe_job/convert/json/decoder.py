"""Batches of JSON records into Arrow rows: columnar where possible, else record by record."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema, index_by_id
from pyiceberg.table.name_mapping import NameMapping

from floe.config.converters.base import ConverterSpec
from floe.parquet.arrow_shapes import reshape, storage_type
from floe_job.contract.dead_letter import Rejected
from floe_job.convert.base import Decoded, FieldConverter, Parsed, TableField, schema_of
from floe_job.convert.context import ConverterContext
from floe_job.convert.json.columnar import ColumnarReader
from floe_job.convert.json.framing import Injected, NotExact, nbytes, without
from floe_job.convert.json.key_aliases import Spellings
from floe_job.convert.json.pace import MIN_CHUNK_RECORDS, Pace
from floe_job.convert.json.parse import fields_of, parse_any
from floe_job.convert.json.row_reader import RowReader
from floe_job.convert.keys import JsonKeyField, JsonKeyText
from floe_job.exceptions import InvalidRecord
from floe_job.schema.evolution import SchemaChanges
from floe_job.schema.proposal import ColumnRules
from floe_job.source.record_batch import ParsedValues
from floe_job.types import Lookup

CHUNK_BYTES = 1_500_000
MIN_SPARSE, SPARSE_CHUNK, SAMPLED = 256, 2048, 8
"""The number of table columns from which on floe samples how many of them the records fill, the number of records between
two samples, and the size of a sample."""

COLUMNS_PER_ROW, COLUMNS_PER_FIELD = 125, 32
"""The empty columns that Arrow's parser handles in the time that a record takes by rows, and that one of its fields takes."""

MAX_SLOW_ROWS = 8
"""Records of a chunk that are read separately before the chunk is made smaller."""

MAX_CELLS_AGAIN = 500_000
"""Records times columns that are parsed again for each record that is read separately."""

MAX_PARTS = 64

PARSED_CHUNK = 1024
"""Parsed records that are made into columns at once."""


class JsonDecoder:
    """Decodes the records of one table.

    ``needs`` accumulates over all calls what records contain and the table lacks. As long as anything is missing, no rows
    are returned (the file could not be closed with final field ids). The caller reads on to find everything else missing.
    """

    def __init__(
        self,
        schema: Schema | None,
        rules: ColumnRules,
        *,
        create: bool,
        name_mapping: NameMapping | None = None,
        row_reader: SingleRecords | None = None,
        drops_unknown: bool = True,
    ) -> None:
        """Decode into ``schema``; None for a table yet to be created, for which every column is missing.

        ``name_mapping`` is that of the table's property, if it has one. ``row_reader`` reads the records that the parser of
        columns cannot; None for the rules of values without a schema. Unless ``drops_unknown``, it reads those with a
        field of no column, too.
        """
        if schema is None and not create:
            problem = "the table does not exist and is not to be created: a schema is needed"
            raise ValueError(problem)
        self._lookup = Lookup(fold=rules.case_insensitive, mapping=name_mapping)
        rules = replace(rules, evolve=rules.evolve or schema is None, case_insensitive=self._lookup.fold)
        self.needs = SchemaChanges(rules=rules)
        self._schema = schema or Schema()
        self._arrow_schema = schema_to_pyarrow(schema) if schema is not None else None
        self._injected = Injected(self._schema, self._lookup, rules)
        self._rows = row_reader or RowReader(
            self._injected.left_empty(self._schema), self.needs, self._lookup, self._injected
        )
        self._drops_unknown = drops_unknown
        self._spellings = Spellings()
        self._columnar: ColumnarReader | None = None
        self._columns = len(index_by_id(self._schema))
        self._pace = Pace()

    def decode(self, values: Sequence[bytes] | ParsedValues) -> Decoded:
        """Decode record values, none of them None. A rejected record changes neither the others nor the needs.

        What is parsed already is read record by record. Raises SchemaConflict, for two types of one new column, if the
        rules say so.
        """
        if isinstance(values, ParsedValues):
            return self._decode_parsed(values)
        batch = _Batch(values, most=_rows_per_chunk(values))
        while batch.position < len(values):
            if batch.position == batch.failing_row:
                self._read_rows(batch, batch.position + 1)
            elif self._pace.by_rows or self._is_sparse(batch):
                count = min(self._pace.by_rows, len(values) - batch.position, batch.most)
                self._pace.took_rows(count)
                self._read_rows(batch, batch.position + count)
            else:
                self._read_chunk(batch)
        return Decoded(self._table(batch.parts), tuple(batch.rejected), batch.fast_rows, len(values))

    def _decode_parsed(self, values: ParsedValues) -> Decoded:
        batch = _Batch(values, most=PARSED_CHUNK)
        while batch.position < len(values):
            self._read_rows(batch, batch.end(PARSED_CHUNK))
        return Decoded(self._table(batch.parts), tuple(batch.rejected), 0, len(values))

    def _is_sparse(self, batch: _Batch) -> bool:
        """Return whether the next records fill so few columns that reading by rows is faster.

        If so, as many are read by rows before the next sample.
        """
        if self._columns < MIN_SPARSE:
            return False
        end = batch.end(SPARSE_CHUNK)
        some = range(batch.position, end, max(1, (end - batch.position) // SAMPLED))
        fields = sum(fields_of(batch.values[index]) for index in some) / len(some)
        if self._columns < COLUMNS_PER_ROW + COLUMNS_PER_FIELD * fields:
            return False
        self._pace.by_rows = end - batch.position
        return True

    def _read_chunk(self, batch: _Batch) -> None:
        """Try columns, without the records that fail; with too many failures try a smaller chunk, and finally rows."""
        columnar = self._columnar = self._columnar or self._columnar_reader()
        end = batch.end(min(self._pace.chunk, max(MIN_CHUNK_RECORDS, columnar.most)))
        values = batch.values[batch.position : end]
        is_worth_it = len(values) > 4 * MIN_CHUNK_RECORDS and len(values) * columnar.columns < MAX_CELLS_AGAIN
        most = MAX_SLOW_ROWS if is_worth_it else 0
        slow_rows: set[int] = set()
        while True:
            try:
                chunk = columnar.read(without(values, slow_rows))
                break
            except NotExact as inexact:
                row = inexact.row
            # the error is released: it would keep what was made of the records in memory, several times their size
            row = None if row is None else _place(row, slow_rows)
            if row is None or row >= len(values) or len(slow_rows) >= most:
                if not self._pace.failed(len(values), columnar.columns):
                    batch.failing_row = None if row is None else batch.position + row
                return
            slow_rows.add(row)
        has_many = columnar.has_many_unexpected
        self._pace.succeeded(len(values), columnar.columns, is_clean=not slow_rows, has_many_unexpected=has_many)
        rows: dict[int, Row | None] = {}
        for row in sorted(slow_rows):
            place = batch.position + row
            (rows[row],) = self._read_each(batch, range(place, place + 1))
            if self._columnar is None:  # later records are read against the columns that this one needs
                end = batch.position + row + 1
                chunk = chunk.slice(0, row + 1 - len(rows))
                break
        batch.fast_rows += end - batch.position - len(rows)
        for part in self._merged_in_order(chunk, rows):
            batch.accept(part, batch.position)
        batch.accept(None, end)

    def _merged_in_order(
        self, chunk: pa.StructArray, slow_rows: Mapping[int, Row | None]
    ) -> Iterator[pa.StructArray | None]:
        """Yield the rows of a chunk in order: those of columns, and between them those that were read separately."""
        taken = 0
        for skipped, (row, values) in enumerate(slow_rows.items()):
            if values is not None:
                yield chunk.slice(taken, row - skipped - taken)
                yield self._array([values])
                taken = row - skipped
        yield chunk.slice(taken)

    def _read_rows(self, batch: _Batch, end: int) -> None:
        rows = self._read_each(batch, range(batch.position, end))
        batch.accept(self._array([row for row in rows if row is not None]), end)

    def _read_each(self, batch: _Batch, indices: range) -> list[Row | None]:
        """Read records the exact way; None for one that is rejected."""
        rows: list[Row | None] = []
        read = self._rows.read_parsed if isinstance(batch.values, ParsedValues) else self._rows.read
        values = batch.values[indices.start : indices.stop]
        for index, value in zip(indices, values, strict=True):
            try:
                rows.append(read(value))
            except InvalidRecord as error:
                batch.rejected.append(Rejected(index, error.stage, error.reason, type(error).__name__))
                rows.append(None)
        if self._rows.take_in():
            self._columnar = None
            self._pace.schema_grew(self._columns + self.needs.count())
        return rows

    def _columnar_reader(self) -> ColumnarReader:
        made = ColumnarReader(self._schema, self.needs, self._lookup, self._spellings, self._injected)
        made.drops_unknown = self._drops_unknown
        return made

    def _array(self, rows: list[Row]) -> pa.StructArray | None:
        if self._arrow_schema is None or self.needs or not rows:
            return None
        fields = list(self._arrow_schema)
        return pa.StructArray.from_arrays(columns_of(rows, fields), fields=fields)

    def _table(self, parts: list[pa.StructArray]) -> pa.Table | None:
        if self._arrow_schema is None or self.needs:
            return None
        batches = [pa.RecordBatch.from_arrays(part.flatten(), schema=self._arrow_schema) for part in parts]
        table = pa.Table.from_batches(batches, self._arrow_schema)
        return table.combine_chunks() if len(batches) > MAX_PARTS else table


@dataclass
class _Batch:
    """How far a batch is decoded. ``failing_row`` is the record at which the columnar path failed."""

    values: Sequence[bytes] | ParsedValues
    most: int
    position: int = 0
    failing_row: int | None = None
    fast_rows: int = 0
    parts: list[pa.StructArray] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)

    def end(self, chunk: int) -> int:
        end = min(self.position + min(chunk, self.most), len(self.values))
        return end if self.failing_row is None or self.failing_row < self.position else min(end, self.failing_row)

    def accept(self, part: pa.StructArray | None, end: int) -> None:
        if part is not None:
            self.parts.append(part)
        self.position = end


def _rows_per_chunk(values: Sequence[bytes]) -> int:
    """Keep a chunk within the processor's cache: a batch parsed at once takes twice the time."""
    return max(1, CHUNK_BYTES * len(values) // max(1, nbytes(values)))


def _place(row: int, slow_rows: Collection[int]) -> int:
    """Return the index in the chunk of the ``row``-th record that was not read separately."""
    for gone in sorted(slow_rows):
        if gone <= row:
            row += 1
    return row


# JSON without schemas, as Kafka Connect's JsonConverter reads it with ``schemas.enable=false``.


class JsonConverters:
    """Readers of JSON values."""

    def __init__(self, spec: ConverterSpec, context: ConverterContext) -> None:
        """Read what ``spec`` describes: it has no options, and JSON without schemas needs no registry."""

    def for_table(
        self, schema: Schema | None, rules: ColumnRules, *, create: bool, name_mapping: NameMapping | None = None
    ) -> JsonDecoder:
        """Make the decoder of one table."""
        return JsonDecoder(schema, rules, create=create, name_mapping=name_mapping)

    def for_field(self, path: tuple[str, ...]) -> TableField:
        """Make the reader of one field."""
        return TableField(path, JsonDecoder(schema_of(path), ColumnRules(), create=False))

    def for_key(self, path: tuple[str, ...]) -> FieldConverter:
        """Make the reader of a field of keys, or of whole keys."""
        return JsonKeyField(self.for_field(path)) if path else JsonKeyText()

    def whole(self, values: Sequence[bytes | None]) -> Parsed:
        """Parse values of any JSON type but null; floats keep their digits (``Literal``), for decimal columns."""
        parsed, rejected = ParsedValues(), []
        for index, value in enumerate(values):
            try:
                parsed.append(None if value is None else parse_any(value))
            except InvalidRecord as error:
                parsed.append(None)
                rejected.append(Rejected(index, error.stage, error.reason, type(error).__name__))
        return Parsed(parsed, tuple(rejected))


# Rows, and how they become columns.


Row = Mapping[str, Any]
"""Values by column; those that a record does not fill are left out."""


class SingleRecords(Protocol):
    """Reads records one by one, as ``RowReader`` does."""

    def read(self, value: bytes) -> Row:
        """Return the values of a record by column. Raises InvalidRecord."""

    def read_parsed(self, value: Any) -> Row:
        """Return the values of a record that is parsed already. Raises InvalidRecord."""

    def take_in(self) -> bool:
        """Return whether the records so far change what the table lacks."""


def columns_of(rows: Sequence[Row], fields: Sequence[pa.Field]) -> list[pa.Array]:
    """Return a column for each field. The cost depends mostly on the values that rows have, not on those they lack."""
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        for name in row:
            if name in places:
                places[name].append(place)
            else:
                places[name] = [place]
    return [_column(rows, field, places.get(field.name, ())) for field in fields]


def _column(rows: Sequence[Row], field: pa.Field, places: Sequence[int]) -> pa.Array:
    if not places:
        return pa.nulls(len(rows), field.type)
    values: list[Any] = [None] * len(rows)
    for place in places:
        values[place] = rows[place][field.name]
    return reshape(pa.array(values, storage_type(field.type)), field.type)
