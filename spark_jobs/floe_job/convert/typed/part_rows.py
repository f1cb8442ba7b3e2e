"""Records of one schema into rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import PrimitiveType

from floe.parquet.arrow_shapes import reshape, storage_type
from floe_job.connect.schema import ConnectSchema
from floe_job.contract.rejected_record import Rejected
from floe_job.convert.typed.base import Places, TypedPart
from floe_job.convert.typed.columns import Columnar, field_columnar
from floe_job.convert.typed.leaves import Inexact
from floe_job.convert.typed.python_values import python_values
from floe_job.exceptions import Unconvertible
from floe_job.schema.evolution import SchemaChanges
from floe_job.schema.rules import ColumnRules
from floe_job.schema.tree import paths
from floe_job.types import Converter, Lookup, PromotionRequests
from floe_job.types.coercion import Trees
from floe_job.types.typed_values import typed_primitive


@dataclass(frozen=True)
class FoundRows:
    """Rows of some records. ``columns``: of the table, by index; all others are null. ``exact_rows``: converted one by one.

    ``places[i]``: of the record that the i-th row is of. ``needs``: what the table lacks for the records that are not
    rejected, by their schema and by their values.
    """

    columns: Mapping[int, pa.Array]
    places: Places
    rejected: tuple[Rejected, ...]
    exact_rows: int
    needs: SchemaChanges


class TableColumns:
    """The columns of a table, and what is the same for the records of all schemas."""

    def __init__(self, table: Schema, lookup: Lookup, rules: ColumnRules) -> None:
        self.fields = table.fields
        self.arrow = schema_to_pyarrow(table)
        self.paths = paths(table)
        self.lookup = lookup
        self.rules = rules
        self.promotions = PromotionRequests(table) if rules.evolve else None
        self.required = frozenset(index for index, field in enumerate(table.fields) if field.required)
        self._trees = Trees(typed_primitive, lookup, self.promotions)
        self._exact: dict[int, Converter] = {}
        self._names = lookup.of(table.as_struct())
        self._indices = {field.name: index for index, field in enumerate(table.fields)}

    def exact(self, index: int) -> Converter:
        """Return what converts the values of a column one by one."""
        if index not in self._exact:
            self._exact[index] = self._trees.field_converter(self.fields[index])[1]
        return self._exact[index]

    def filled(self, source: ConnectSchema) -> dict[int, int]:
        """Return which field of a schema fills each column; of two fields for one column the last one counts."""
        chosen = {self._names.column(name): place for place, (name, _) in enumerate(source.fields)}
        return {self._indices[name]: place for name, place in chosen.items() if name is not None}


@dataclass
class _Exact:
    """What converting values one by one found: the first error of each row, and the changes of columns that rows need."""

    errors: dict[int, Unconvertible] = field(default_factory=dict)
    requests: list[tuple[int, Mapping[int, PrimitiveType], Mapping[int, None]]] = field(default_factory=list)


@dataclass(frozen=True)
class _Column:
    """How one column is filled: by the source's field at ``place``, or with nulls."""

    index: int
    place: int | None
    columnar: Columnar | None


class PartRows:
    """Converts records of one schema into rows of one table."""

    def __init__(
        self, source: ConnectSchema, table: TableColumns, needs: SchemaChanges, hidden: frozenset[str]
    ) -> None:
        """Compile the conversion; ``needs``: what the table lacks for the schema, ``hidden``: fields that fill no column."""
        self._needs = needs
        self._rules = table.rules
        self._source = source
        self._table = table
        filled = {
            index: place for index, place in table.filled(source).items() if source.fields[place][0] not in hidden
        }
        self._columns = [self._column(index, filled.get(index)) for index in sorted({*filled, *table.required})]

    def _column(self, index: int, place: int | None) -> _Column:
        if place is None:
            return _Column(index, None, None)
        field, kind = self._table.fields[index], self._table.arrow.field(index).type
        return _Column(index, place, field_columnar(self._source.fields[place][1], field, kind, self._table.lookup))

    def read(self, part: TypedPart) -> FoundRows:
        """Return the rows of records, in their order, without those that are rejected."""
        fields = part.column.flatten()
        count = len(part.column)
        exact = _Exact()
        one_by_one = np.zeros(count, np.bool_)
        arrays: dict[int, pa.Array] = {}
        for column in self._columns:
            array, rows = self._columnar(column, fields, count)
            if rows is not None:
                one_by_one |= rows
                array = self._exactly(column, fields, array, np.flatnonzero(rows), exact)
            arrays[column.index] = array
        places = part.places
        if exact.errors:
            kept = np.delete(np.arange(count), sorted(exact.errors))
            arrays, places = {index: array.take(pa.array(kept)) for index, array in arrays.items()}, places[kept]
        rejected = tuple(
            Rejected(int(part.places[row]), error.stage, error.reason, type(error).__name__)
            for row, error in sorted(exact.errors.items())
        )
        needs = self._needs_of(exact) if len(places) else SchemaChanges(rules=self._rules)
        return FoundRows(arrays, places, rejected, int(one_by_one.sum()), needs)

    def _needs_of(self, exact: _Exact) -> SchemaChanges:
        needs = SchemaChanges(rules=self._rules)
        needs.merge(self._needs)
        for row, promoted, optional in exact.requests:
            if row not in exact.errors:
                wider = {self._table.paths[i]: str(kind) for i, kind in promoted.items()}
                needs.widen(wider, {self._table.paths[i]: None for i in optional})
        return needs

    def _columnar(self, column: _Column, fields: Sequence[pa.Array], count: int) -> tuple[pa.Array, Inexact]:
        if column.place is None or column.columnar is None:
            kind = self._table.arrow.field(column.index).type
            return pa.nulls(count, kind), np.ones(count, np.bool_) if count else None
        return column.columnar(fields[column.place])

    def _exactly(
        self,
        column: _Column,
        fields: Sequence[pa.Array],
        array: pa.Array,
        rows: Places,
        exact: _Exact,
    ) -> pa.Array:
        """Convert some values of a column one by one, and put them in their places."""
        values: list[Any] = [None] * len(rows)
        if column.place is not None:
            chosen = fields[column.place].take(pa.array(rows))
            values = python_values(chosen, self._source.fields[column.place][1])
        converted: list[Any] = []
        table = self._table
        convert, name = table.exact(column.index), table.fields[column.index].name
        for row, value in zip(rows.tolist(), values, strict=True):
            try:
                converted.append(convert({name: value}))
            except Unconvertible as error:
                exact.errors.setdefault(row, error)
                converted.append(None)
            if table.promotions:
                exact.requests.append((row, table.promotions.promoted, table.promotions.optional))
                table.promotions.clear()
        kind = table.arrow.field(column.index).type
        made = reshape(pa.array(converted, storage_type(kind)), kind)
        if len(rows) == len(array):
            return made
        order = np.arange(len(array))
        order[rows] = len(array) + np.arange(len(rows))
        return pa.concat_arrays([array, made]).take(pa.array(order))
