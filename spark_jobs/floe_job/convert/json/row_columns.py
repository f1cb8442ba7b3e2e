"""Rows as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from floe.parquet.arrow_shapes import reshape, storage_type

Row = Mapping[str, Any]
"""Values by column; those that a record does not fill are left out."""


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
