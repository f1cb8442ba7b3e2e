"""Which columns of a file get a dictionary.

Parquet gives every column one and lets go of it when it has become too large: for names that never come again that is work
for nothing, and the part that was written with it is larger than without.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

FIRST, NEW = 1_000, 0.95
"""Values that are looked at first, and the share of different ones among them with which it is worth to look at more."""

ENOUGH = 1.25
"""How many bytes of values are looked at, as a multiple of what a dictionary may hold: Arrow's offsets are among them."""

LENGTH_BYTES = 4
"""What a value in a dictionary takes beside itself."""


def with_dictionary(schema: pa.Schema, first: pa.Table, paths: Iterable[str], limit: int) -> bool | list[str]:
    """Return those of a file's columns, by Parquet's paths, that get a dictionary; True for all of them.

    ``schema`` is the file's; ``first`` are its first rows, with the columns at the same places. Columns of texts go without
    whose dictionary would be larger than ``limit`` bytes before these rows are written.
    """
    without = {
        field.name
        for field, column in zip(schema, first.columns, strict=True)
        if _is_text(field.type) and _would_be_given_up(column, limit)
    }
    return [path for path in paths if path not in without] if without else True


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_string(kind) or pa.types.is_large_binary(kind))


def _would_be_given_up(column: pa.ChunkedArray, limit: int) -> bool:
    if column.nbytes < limit or pc.count_distinct(column.slice(0, FIRST)).as_py() < NEW * FIRST:
        return False
    values = pc.unique(column.slice(0, int(ENOUGH * limit * len(column) / column.nbytes)))
    return bool(pc.sum(pc.binary_length(values)).as_py() + LENGTH_BYTES * len(values) > limit)
