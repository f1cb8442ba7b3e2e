"""Records of one schema into rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, ListType, MapType, PrimitiveType, StructType

from floe.parquet.arrow_shapes import reshape, storage_type
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.contract.rejected_record import Rejected
from floe_job.convert.typed.base import Places, TypedPart
from floe_job.convert.typed.columns import Columnar, field_columnar
from floe_job.convert.typed.leaves import Inexact
from floe_job.convert.typed.proposals import proposal_of
from floe_job.convert.typed.python_values import lengths_of, map_entries, python_values
from floe_job.exceptions import Unconvertible
from floe_job.schema.evolution import SchemaChanges
from floe_job.schema.proposal import ELEMENT, VALUE, Path
from floe_job.schema.rules import ColumnRules
from floe_job.schema.tree import paths
from floe_job.types import Converter, Lookup, PromotionRequests
from floe_job.types.coercion import Trees
from floe_job.types.typed_values import typed_primitive

Mask = np.ndarray[Any, np.dtype[np.bool_]]


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
        self.schema = table
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
        self._has_arms = table.rules.evolve and _has_empty_arm(source)
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
        for arms, path in self._lost_arms(part.column):
            problem = (
                "it is the branch of a union that has no fields, and no column: which branch was sent would be lost"
            )
            for row in np.flatnonzero(arms).tolist():
                error = Unconvertible(problem)
                error.path = path
                exact.errors.setdefault(row, error)
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

    def _lost_arms(self, column: pa.StructArray) -> Iterator[tuple[Mask, Path]]:
        """Yield the records whose branch of a union no column has, where columns are made for what records have."""
        if self._has_arms:
            yield from _lost(column, self._source, self._table.schema.as_struct(), self._table.lookup, ())

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


_UNIONS: Final = (
    "io.confluent.connect.avro.Union",
    "io.confluent.connect.protobuf.Union",
    "io.confluent.connect.json.OneOf",
)
"""How the names of structs begin of which one field is there."""


def _is_union(schema: ConnectSchema) -> bool:
    return schema.kind is Kind.STRUCT and schema.name is not None and schema.name.startswith(_UNIONS)


def _has_empty_arm(schema: ConnectSchema) -> bool:
    """Whether a schema has, at any depth, a union with a branch without fields."""
    inner = [one for _, one in schema.fields] + [one for one in (schema.key, schema.element) if one is not None]
    if _is_union(schema) and any(proposal_of(one) is None for one in inner):
        return True
    return any(map(_has_empty_arm, inner))


def _lost(
    column: pa.Array, schema: ConnectSchema, target: IcebergType | None, lookup: Lookup, path: Path
) -> Iterator[tuple[Mask, Path]]:
    """Yield where branches without fields are, and their path. ``target``: None where no column can be."""
    if schema.kind is Kind.STRUCT and (target is None or isinstance(target, StructType)):
        names = None if target is None else lookup.of(target)
        columns = {} if target is None else {field.name: field.field_type for field in target.fields}
        for (name, inner), child in zip(schema.fields, column.flatten(), strict=True):
            known = None if names is None else names.column(name)
            if known is None and proposal_of(inner) is not None:
                continue
            if known is None and _is_union(schema):
                yield child.is_valid().to_numpy(zero_copy_only=False), (*path, name)
                continue
            yield from _lost(child, inner, columns.get(known or ""), lookup, (*path, name))
        return
    if schema.kind is Kind.ARRAY and (target is None or isinstance(target, ListType)):
        values, below, step = column.flatten(), None if target is None else target.element_type, ELEMENT
    elif schema.kind is Kind.MAP and (target is None or isinstance(target, MapType)):
        values, below, step = map_entries(column)[1], None if target is None else target.value_type, VALUE
    else:
        return
    owners = np.repeat(np.arange(len(column)), lengths_of(column))
    for inside, inner_path in _lost(values, cast(ConnectSchema, schema.element), below, lookup, (*path, step)):
        found = np.zeros(len(column), np.bool_)
        found[owners[inside]] = True
        yield found, inner_path
