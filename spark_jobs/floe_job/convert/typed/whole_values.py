"""Whole values with schemas, for transforms that need them, and back again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, cast

import numpy as np
import pyarrow as pa

from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.contract.dead_letter import Rejected
from floe_job.convert.base import Parsed
from floe_job.convert.json.parse import parse_any
from floe_job.convert.typed.base import Places, SchemalessPart, TypedBatch, TypedDecoder, TypedPart
from floe_job.convert.typed.python_values import python_values
from floe_job.exceptions import COERCE, InvalidRecord, Malformed
from floe_job.source.record_batch import ParsedValues
from floe_job.source.values import Values
from floe_job.types.typed_values import Day, Meant


def parsed(decoder: TypedDecoder, values: Sequence[bytes | None]) -> Parsed:
    """Decode whole values, for transforms; None for a tombstone, and for what is rejected."""
    present, some = _present(values)
    batch = decoder.decode(some)
    parts, rejected = [], [one.at(int(present[one.index])) for one in batch.rejected]
    for part in batch.parts:
        filled, nulls = without_nulls(part)
        rejected += [one.at(int(present[one.index])) for one in nulls]
        parts.append(TypedPart(filled.schema, present[filled.places], filled.column))
    schemaless = None
    if batch.schemaless is not None:
        schemaless, bad = _parsed(batch.schemaless, present)
        rejected += bad
    found = TypedColumns(len(values), parts, schemaless)
    return Parsed(found, tuple(sorted(rejected, key=lambda one: one.index)))


def _present(values: Sequence[bytes | None]) -> tuple[Places, Sequence[bytes]]:
    """Return the places of the values that are not None, and those values, where they are in memory."""
    if isinstance(values, Values):
        rows = values.present()
        return np.array(rows, np.int64), values if len(rows) == len(values) else values.select(rows)
    some = [(place, value) for place, value in enumerate(values) if value is not None]
    return np.array([place for place, _ in some], np.int64), [value for _, value in some]


def _parsed(part: SchemalessPart, present: Places) -> tuple[SchemalessPart | None, list[Rejected]]:
    """Parse values that came without a schema."""
    if isinstance(part.values, ParsedValues):
        return SchemalessPart(present[part.places], part.values), []
    found, kept, bad = ParsedValues(), [], []
    for place, text in zip(present[part.places].tolist(), part.values, strict=True):
        try:
            found.append(parse_any(text))
            kept.append(place)
        except InvalidRecord as error:
            bad.append(Rejected(place, error.stage, error.reason, type(error).__name__))
    return SchemalessPart(np.array(kept, np.int64), found) if kept else None, bad


def without_nulls(part: TypedPart) -> tuple[TypedPart, list[Rejected]]:
    """Take out the records whose whole value is null."""
    if not part.column.null_count:
        return part, []
    present = part.column.is_valid().to_numpy(zero_copy_only=False)
    why = "its value is null, though its bytes are not: a tombstone has no bytes"
    nulls = [Rejected(i, COERCE, why, Malformed.__name__) for i in part.places[~present].tolist()]
    return TypedPart(part.schema, part.places[present], part.column.filter(pa.array(present))), nulls


def batch_of(values: TypedValues | TypedColumns) -> TypedBatch:
    """Return values as a decoder returns them."""
    if isinstance(values, TypedColumns):
        return TypedBatch(values.parts, (), sum(len(part.places) for part in values.parts), values.schemaless)
    places: dict[ConnectSchema, list[int]] = {}
    for place, schema in enumerate(values.schemas):
        if schema is not None:
            places.setdefault(schema, []).append(place)
    parts = tuple(
        TypedPart(schema, np.array(some, np.int64), arrow_column([values[i] for i in some], schema))
        for schema, some in places.items()
    )
    plain = [i for i, schema in enumerate(values.schemas) if schema is None and values[i] is not None]
    others = SchemalessPart(np.array(plain, np.int64), ParsedValues([values[i] for i in plain])) if plain else None
    return TypedBatch(parts, (), 0, others)


def arrow_column(values: Sequence[Any], schema: ConnectSchema) -> pa.Array:
    """Return values as a column in the Arrow type of their schema: the reverse of ``python_values``."""
    kind, mask = arrow_type(schema), pa.array([value is None for value in values], pa.bool_())
    if schema.kind is Kind.STRUCT:
        children = [
            arrow_column([None if value is None else value[name] for value in values], inner)
            for name, inner in schema.fields
        ]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=mask)
    if schema.kind in (Kind.ARRAY, Kind.MAP):
        offsets = list(accumulate((len(value or ()) for value in values), initial=0))
        entries = [entry for value in values for entry in (value or ())]
        if schema.kind is Kind.ARRAY:
            column = arrow_column(entries, cast(ConnectSchema, schema.element))
            return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), column, type=kind, mask=mask)
        inner_values = [entry for value in values for entry in (value or {}).values()]
        keys = arrow_column(entries, cast(ConnectSchema, schema.key))
        column = arrow_column(inner_values, cast(ConnectSchema, schema.element))
        return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, column, type=kind, mask=mask)
    if pa.types.is_temporal(kind):
        numbers = [
            None if value is None else value.days if isinstance(value, Day) else value.micros for value in values
        ]
        return pa.array(numbers, pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)
    return pa.array([value.raw if type(value) is Meant else value for value in values], kind)


# Whole values with their schemas, as transforms see them: as objects, or as columns.


class TypedValues(ParsedValues):
    """Values with their schemas; None for a tombstone and its schema, and for the schema of a value that came without one."""

    def __init__(self, values: Sequence[Any] = (), schemas: Sequence[ConnectSchema | None] = ()) -> None:
        super().__init__(values)
        self.schemas = list(schemas)

    def select(self, indices: Sequence[int]) -> TypedValues:
        """Return some of the values, by index."""
        return TypedValues([self[i] for i in indices], [self.schemas[i] for i in indices])


class TypedColumns(Sequence[Any]):
    """Values as columns, those of each schema together; a place in none of the parts is a tombstone.

    ``schemaless``: values that came without a schema, parsed. As a sequence, it is the values as objects.
    """

    def __init__(self, count: int, parts: Sequence[TypedPart], schemaless: SchemalessPart | None = None) -> None:
        self._count = count
        self.parts = tuple(parts)
        self.schemaless = schemaless
        self._objects: TypedValues | None = None

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        return self.objects()[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.objects())

    def __eq__(self, other: object) -> bool:
        return self.objects() == other

    __hash__ = None  # type: ignore[assignment]

    @property
    def present(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which of them are no tombstones."""
        found = np.zeros(self._count, np.bool_)
        for part in self.parts:
            found[part.places] = True
        if self.schemaless is not None:
            found[self.schemaless.places] = True
        return found

    def select(self, indices: Sequence[int]) -> TypedColumns:
        """Return some of the values, by index, in ascending order."""
        rows = np.asarray(indices, np.int64)
        if len(rows) == self._count:
            return self
        landing = np.full(self._count, -1, np.int64)
        landing[rows] = np.arange(len(rows))
        parts = [_selected(part, landing) for part in self.parts]
        return TypedColumns(len(rows), [part for part in parts if len(part.places)], self._plain(landing))

    def _plain(self, landing: Places) -> SchemalessPart | None:
        if self.schemaless is None:
            return None
        places = landing[self.schemaless.places]
        kept = np.flatnonzero(places >= 0)
        if not len(kept):
            return None
        return SchemalessPart(places[kept], ParsedValues([self.schemaless.values[i] for i in kept.tolist()]))

    def joined(self, other: TypedColumns, places: Places, others: Places) -> TypedColumns:
        """Join two lots of values, which get the places given."""
        parts = [TypedPart(part.schema, places[part.places], part.column) for part in self.parts]
        parts += [TypedPart(part.schema, others[part.places], part.column) for part in other.parts]
        plain = [
            (lot[part.places], part.values)
            for lot, part in ((places, self.schemaless), (others, other.schemaless))
            if part is not None
        ]
        schemaless = None
        if plain:
            at = np.concatenate([where for where, _ in plain])
            values = [value for _, some in plain for value in some]
            order = np.argsort(at, kind="stable")
            schemaless = SchemalessPart(at[order], ParsedValues([values[i] for i in order.tolist()]))
        return TypedColumns(len(places) + len(others), parts, schemaless)

    def objects(self) -> TypedValues:
        """Return them as objects."""
        if self._objects is None:
            found: list[Any] = [None] * self._count
            schemas = cast("list[ConnectSchema | None]", [None] * self._count)
            for part in self.parts:
                for place, value in zip(part.places.tolist(), python_values(part.column, part.schema), strict=True):
                    found[place], schemas[place] = value, part.schema
            if self.schemaless is not None:
                for place, value in zip(self.schemaless.places.tolist(), self.schemaless.values, strict=True):
                    found[place] = value
            self._objects = TypedValues(found, schemas)
        return self._objects


def _selected(part: TypedPart, landing: Places) -> TypedPart:
    places = landing[part.places]
    kept = places >= 0
    return TypedPart(part.schema, places[kept], part.column.filter(pa.array(kept)))
