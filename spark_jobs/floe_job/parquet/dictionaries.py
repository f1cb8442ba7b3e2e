"""Which columns of a file get a dictionary.

Parquet gives every column one and lets go of it when it has become too large: for names that never come again that is work
for nothing, and the part that was written with it is larger than without.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

LOOKS = (1_000, 10_000)
"""Rows that are looked at: more only of what is different in the first."""

FEWEST_ROWS = 20_000
"""In smaller files it is not worth a look."""

NEW = 0.95
"""Share of different values from which on they are taken for new ones all the way."""


def with_dictionary(schema: pa.Schema, first: pa.Table, paths: Iterable[str]) -> bool | list[str]:
    """Return those of a file's columns, by Parquet's paths, that get a dictionary; True for all of them.

    ``schema`` is the file's; ``first`` are its first rows, with the columns at the same places.
    """
    if first.num_rows < FEWEST_ROWS:
        return True
    without = {
        field.name
        for field, column in zip(schema, first.columns, strict=True)
        if _is_text(field.type) and all(_is_new(column.slice(0, count)) for count in LOOKS)
    }
    return [path for path in paths if path not in without] if without else True


def _is_text(kind: pa.DataType) -> bool:
    """Numbers and dates are short: a dictionary holds so many of them that most come again."""
    return bool(pa.types.is_large_string(kind) or pa.types.is_large_binary(kind))


def _is_new(values: pa.ChunkedArray) -> bool:
    return bool(pc.count_distinct(values, mode="all").as_py() >= NEW * len(values))
