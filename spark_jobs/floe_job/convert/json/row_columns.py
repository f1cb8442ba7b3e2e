"""Rows, and how they become columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from floe.parquet.arrow_shapes import reshape, storage_type

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
