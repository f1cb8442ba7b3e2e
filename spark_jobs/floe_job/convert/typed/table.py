"""Values with schemas into the rows of one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.table.name_mapping import NameMapping
from pyiceberg.types import IcebergType, ListType, MapType, PrimitiveType, StructType

from floe.parquet.arrow_shapes import reshape, storage_type
from floe_job.connect.debezium import meant
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.contract.dead_letter import Rejected
from floe_job.convert.base import Decoded, Parsed, TableField, schema_of
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.convert.json.framing import Injected
from floe_job.convert.keys import FIELD, WrappedKeys
from floe_job.convert.typed.base import Places, TypedBatch, TypedDecoder, TypedPart
from floe_job.convert.typed.columns import Columnar, field_columnar
from floe_job.convert.typed.leaves import Inexact
from floe_job.convert.typed.python_values import lengths_of, map_entries, python_values
from floe_job.convert.typed.schema_needs import SchemaNeeds, proposal_of
from floe_job.convert.typed.whole_values import TypedColumns, TypedValues, batch_of, parsed, without_nulls
from floe_job.exceptions import COERCE, InvalidRecord, Unconvertible, Unnameable
from floe_job.schema.evolution import SchemaChanges, paths
from floe_job.schema.limits import MAX_COLUMNS
from floe_job.schema.proposal import ELEMENT, VALUE, ColumnRules, Path
from floe_job.source.record_batch import ParsedValues
from floe_job.types import Converter, Lookup, PromotionRequests
from floe_job.types.coercion import Trees
from floe_job.types.typed_values import json_form, typed_primitive

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


# Records of one schema into rows of a table.


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


# What every format with schemas is turned into: rows of a table, a route's field, whole values.


class TypedConverters:
    """Readers of values with schemas; ``make``: a decoder of the format, for each use, or the same for all."""

    def __init__(self, make: Callable[[], TypedDecoder]) -> None:
        self._make = make

    def for_table(
        self, schema: Schema | None, rules: ColumnRules, *, create: bool, name_mapping: NameMapping | None = None
    ) -> TypedTable:
        """Make the decoder of one table."""
        return TypedTable(self._make(), schema, rules, create=create, name_mapping=name_mapping)

    def for_field(self, path: tuple[str, ...]) -> TableField:
        """Make the reader of one field; bytes and times are no text, as in a string column."""
        return TableField(path, TypedTable(self._make(), schema_of(path), ColumnRules(), create=False))

    def for_key(self, path: tuple[str, ...]) -> TableField:
        """Make the reader of a field of keys, or of whole keys."""
        path = (FIELD, *path)
        return TableField(path, TypedTable(WrappedKeys(self._make()), schema_of(path), ColumnRules(), create=False))

    def whole(self, values: Sequence[bytes | None]) -> Parsed:
        """Decode whole values, for transforms."""
        return parsed(self._make(), values)
