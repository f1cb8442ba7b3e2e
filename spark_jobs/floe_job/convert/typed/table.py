"""Values with schemas into the rows of one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.table.name_mapping import NameMapping

from floe_job.connect.debezium import meant
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.contract.rejected_record import Rejected
from floe_job.convert.base import Decoded
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.convert.json.reserved_fields import Injected
from floe_job.convert.typed.base import Places, TypedBatch, TypedDecoder
from floe_job.convert.typed.part_rows import PartRows, TableColumns
from floe_job.convert.typed.schema_needs import SchemaNeeds
from floe_job.convert.typed.whole.reader import batch_of, without_nulls
from floe_job.convert.typed.whole.values import TypedColumns, TypedValues
from floe_job.exceptions import InvalidRecord, Unnameable
from floe_job.schema.evolution import SchemaChanges
from floe_job.schema.limits import MAX_COLUMNS
from floe_job.schema.rules import ColumnRules
from floe_job.source.record_batch import ParsedValues
from floe_job.stages import COERCE
from floe_job.types import Lookup
from floe_job.types.typed_values import json_form

MAX_KNOWN = 1000
"""Schemas whose conversion is kept: a topic with more has others compiled again."""


class TypedTable:
    """Decodes the records of one table, each part of a batch by its schema.

    ``needs`` accumulates over all calls. As long as anything is missing, no rows are returned.
    """

    def __init__(
        self,
        decoder: TypedDecoder,
        schema: Schema | None,
        rules: ColumnRules,
        *,
        create: bool,
        name_mapping: NameMapping | None = None,
    ) -> None:
        """Decode into ``schema``; None for a table yet to be created, for which every column is missing."""
        if schema is None and not create:
            problem = "the table does not exist and is not to be created: a schema is needed"
            raise ValueError(problem)
        self._decoder = decoder
        self._lookup = Lookup(fold=rules.case_insensitive, mapping=name_mapping)
        self._rules = replace(rules, evolve=rules.evolve or schema is None, case_insensitive=self._lookup.fold)
        self.needs = SchemaChanges(rules=self._rules)
        self._arrow_schema = schema_to_pyarrow(schema) if schema is not None else None
        self._injected = Injected(schema or Schema(), self._lookup, self._rules)
        self._schema = self._injected.left_empty(schema or Schema())
        self._missing = SchemaNeeds(self._schema, self._lookup, self._rules)
        self._columns = TableColumns(self._schema, self._lookup, self._rules)
        self._rows: dict[ConnectSchema, PartRows | InvalidRecord] = {}
        self._plain = cache(partial(JsonDecoder, schema, rules, create=create, name_mapping=name_mapping))

    def decode(self, values: Sequence[bytes] | ParsedValues) -> Decoded:
        """Decode record values, none of them None. A rejected record changes neither the others nor the needs.

        Parsed values without schemas are read as those of JSON are.
        """
        if isinstance(values, TypedValues | TypedColumns):
            return self._decoded(batch_of(values), len(values))
        if isinstance(values, ParsedValues):
            return self._without_schema(values)
        return self._decoded(self._decoder.decode(values), len(values))

    def _without_schema(self, values: ParsedValues) -> Decoded:
        decoded = self._plain().decode(_as_json(values))
        self.needs.merge(self._plain().needs)
        return decoded if not self.needs else replace(decoded, table=None)

    def _decoded(self, batch: TypedBatch, count: int) -> Decoded:
        rejected = list(batch.rejected)
        rows_found: list[_Rows] = []
        exact = 0
        for part in batch.parts:
            present, nulls = without_nulls(part)
            rejected += nulls
            rows = self._rows_of(part.schema)
            if isinstance(rows, InvalidRecord):
                error = type(rows).__name__
                rejected += [Rejected(i, rows.stage, rows.reason, error) for i in present.places.tolist()]
                continue
            found = rows.read(present)
            rejected += found.rejected
            exact += found.exact_rows
            self._note(found.needs)
            rows_found.append((found.places, found.columns))
        fast = max(0, batch.fast_rows - exact)
        if batch.schemaless is not None:
            decoded = self._plain().decode(_as_json(batch.schemaless.values))
            bad = [one.index for one in decoded.rejected]
            rejected += [one.at(int(batch.schemaless.places[one.index])) for one in decoded.rejected]
            fast += decoded.fast_rows
            self.needs.merge(self._plain().needs)
            if decoded.table is not None:
                columns = {index: column.combine_chunks() for index, column in enumerate(decoded.table.columns)}
                rows_found.append((np.delete(batch.schemaless.places, bad), columns))
        rejected.sort(key=lambda one: one.index)
        return Decoded(self._joined(rows_found), tuple(rejected), fast, count)

    def _note(self, needs: SchemaChanges) -> None:
        """Add what a schema lacks. Beyond the columns that a table can get, others wait for the next round of the task."""
        if len(self.needs.columns) <= MAX_COLUMNS:
            self.needs.merge(needs)
        else:
            self.needs.widen(needs.promotions, needs.optional)

    def _rows_of(self, schema: ConnectSchema) -> PartRows | InvalidRecord:
        if schema not in self._rows:
            if len(self._rows) >= MAX_KNOWN:
                self._rows.clear()
            self._rows[schema] = self._compiled(schema)
        return self._rows[schema]

    def _compiled(self, schema: ConnectSchema) -> PartRows | InvalidRecord:
        if schema.kind is not Kind.STRUCT:
            return NoStruct(f"the value is of type {schema.kind.value}: only a struct, which has fields, makes a row")
        if self._rules.debezium_types:
            schema = meant(schema)
        hidden = frozenset(name for name, _ in schema.fields if self._injected.hides(name))
        try:
            needs = self._missing.of(schema, hidden) if self._rules.evolve else SchemaChanges(rules=self._rules)
        except Unnameable as error:
            return error
        return PartRows(schema, self._columns, needs, hidden)

    def _joined(self, found: Sequence[_Rows]) -> pa.Table | None:
        """Return rows of all schemas in the order of their records."""
        if self._arrow_schema is None or self.needs:
            return None
        counts = [len(places) for places, _ in found]
        total = sum(counts)
        pieces: dict[int, list[tuple[int, pa.Array]]] = {}
        start = 0
        for count, (_, columns) in zip(counts, found, strict=True):
            for index, array in columns.items():
                pieces.setdefault(index, []).append((start, array))
            start += count
        order = np.argsort(np.concatenate([places for places, _ in found]), kind="stable") if len(found) > 1 else None
        arrays = [
            _gathered(pieces.get(index, ()), total, order, field.type) for index, field in enumerate(self._arrow_schema)
        ]
        return pa.Table.from_arrays(arrays, schema=self._arrow_schema)


_Rows = tuple[Places, Mapping[int, pa.Array]]
"""Rows of one schema: of which records they are, and their columns by index; all others are null."""


def _gathered(pieces: Sequence[tuple[int, pa.Array]], total: int, order: Places | None, kind: pa.DataType) -> pa.Array:
    """Return one column of ``total`` rows in an order. ``pieces``: where the rows of some schemas begin, and their values."""
    if not pieces:
        return pa.nulls(total, kind)
    values = pieces[0][1] if len(pieces) == 1 else pa.concat_arrays([array for _, array in pieces])
    if len(values) == total:
        return values if order is None else values.take(pa.array(order))
    rows, at = np.full(total, -1, np.int64), 0
    for start, array in pieces:
        rows[start : start + len(array)] = np.arange(at, at + len(array))
        at += len(array)
    rows = rows if order is None else rows[order]
    return values.take(pa.array(rows, mask=rows < 0))


class NoStruct(InvalidRecord):
    """A value that has a schema, but no fields."""

    stage = COERCE


def _as_json(values: Sequence[bytes] | ParsedValues) -> Sequence[bytes] | ParsedValues:
    return ParsedValues([json_form(value) for value in values]) if isinstance(values, ParsedValues) else values
