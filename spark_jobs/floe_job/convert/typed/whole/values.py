"""Whole values with their schemas, as transforms see them: as objects, or as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa

from floe_job.connect.schema import ConnectSchema
from floe_job.convert.typed.base import Places, SchemalessPart, TypedPart
from floe_job.convert.typed.python_values import python_values
from floe_job.source.record_batch import ParsedValues


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
