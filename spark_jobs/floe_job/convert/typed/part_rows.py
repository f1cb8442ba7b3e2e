"""Records of one schema into rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, PrimitiveType

from floe.parquet.arrow_shapes import reshape, storage_type
from floe_job.connect.schema import ConnectSchema
from floe_job.contract.rejected import Rejected
from floe_job.convert.typed.base import Places, TypedPart
from floe_job.convert.typed.columns import Columnar, chosen_fields, field_columnar
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
    """Rows of some records. ``places[i]``: of the record that the i-th row is of. ``exact_rows``: converted one by one.

    ``needs``: what the table lacks for the records that are not rejected, by their schema and by their values.
    """

    table: pa.Table
    places: Places
    rejected: tuple[Rejected, ...]
    exact_rows: int
    needs: SchemaChanges


@dataclass
class _Exact:
    """What converting values one by one found: the first error of each row, and the changes of columns that rows need."""

    errors: dict[int, Unconvertible] = field(default_factory=dict)
    requests: list[tuple[int, Mapping[int, PrimitiveType], Mapping[int, None]]] = field(default_factory=list)


@dataclass(frozen=True)
class _Column:
    """How one column is filled: by the source's field at ``place``, or with nulls."""

    field: NestedField
    arrow: pa.Field
    place: int | None
    columnar: Columnar | None
    exact: Converter


class PartRows:
    """Converts records of one schema into rows of one table."""

    def __init__(
        self,
        source: ConnectSchema,
        table: Schema,
        lookup: Lookup,
        rules: ColumnRules,
        needs: SchemaChanges,
        hidden: frozenset[str],
    ) -> None:
        """Compile the conversion; ``needs``: what the table lacks for the schema, ``hidden``: fields that fill no column."""
        self._needs = needs
        self._rules = rules
        self._source = source
        self._paths = paths(table)
        self._promotions = PromotionRequests(table) if rules.evolve else None
        arrow = schema_to_pyarrow(table)
        chosen = chosen_fields(source, table.as_struct(), lookup)
        trees = Trees(typed_primitive, lookup, self._promotions)
        self._columns = []
        for one, kind in zip(table.fields, arrow, strict=True):
            place = chosen.get(one.name)
            if place is not None and source.fields[place][0] in hidden:
                place = None
            convert = None
            if place is not None:
                convert = field_columnar(source.fields[place][1], one, kind.type, lookup)
            self._columns.append(_Column(one, kind, place, convert, trees.field_converter(one)[1]))

    def read(self, part: TypedPart) -> FoundRows:
        """Return the rows of records, in their order, without those that are rejected."""
        fields = part.column.flatten()
        count = len(part.column)
        exact = _Exact()
        one_by_one = np.zeros(count, np.bool_)
        arrays = []
        for column in self._columns:
            array, rows = self._columnar(column, fields, count)
            if rows is not None and rows.any():
                one_by_one |= rows
                array = self._exactly(column, fields, array, np.flatnonzero(rows), exact)
            arrays.append(array)
        table = pa.Table.from_arrays(arrays, schema=pa.schema([column.arrow for column in self._columns]))
        places = part.places
        if exact.errors:
            kept = np.delete(np.arange(count), sorted(exact.errors))
            table, places = table.take(pa.array(kept)), places[kept]
        rejected = tuple(
            Rejected(int(part.places[row]), error.stage, error.reason, type(error).__name__)
            for row, error in sorted(exact.errors.items())
        )
        needs = self._needs_of(exact) if len(places) else SchemaChanges(rules=self._rules)
        return FoundRows(table, places, rejected, int(one_by_one.sum()), needs)

    def _needs_of(self, exact: _Exact) -> SchemaChanges:
        needs = SchemaChanges(rules=self._rules)
        needs.merge(self._needs)
        for row, promoted, optional in exact.requests:
            if row not in exact.errors:
                wider = {self._paths[i]: str(kind) for i, kind in promoted.items()}
                needs.widen(wider, {self._paths[i]: None for i in optional})
        return needs

    def _columnar(self, column: _Column, fields: Sequence[pa.Array], count: int) -> tuple[pa.Array, Inexact]:
        every = np.ones(count, np.bool_) if count else None
        if column.place is None:
            return pa.nulls(count, column.arrow.type), every if column.field.required else None
        if column.columnar is None:
            return pa.nulls(count, column.arrow.type), every
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
        for row, value in zip(rows.tolist(), values, strict=True):
            try:
                converted.append(column.exact({column.field.name: value}))
            except Unconvertible as error:
                exact.errors.setdefault(row, error)
                converted.append(None)
            if self._promotions:
                exact.requests.append((row, self._promotions.promoted, self._promotions.optional))
                self._promotions.clear()
        made = reshape(pa.array(converted, storage_type(column.arrow.type)), column.arrow.type)
        if len(rows) == len(array):
            return made
        order = np.arange(len(array))
        order[rows] = len(array) + np.arange(len(rows))
        return pa.concat_arrays([array, made]).take(pa.array(order))
