"""Which columns of a file get a dictionary.

Parquet gives every column a dictionary and drops it when it has become too large. For values that never repeat, that is
needless work, and the part that was written with it is larger than without.

Iceberg's Java library evaluates filters on dictionaries, too. It compares UUIDs as signed there, so that a range finds
nothing (apache/iceberg issue 14216), and takes -0.0 and 0.0 for two values, which Spark takes for one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.types import DoubleType

from floe.parquet.leaves import Leaf

FIRST, NEW = 1_000, 0.95
"""Values that are examined first, and the fraction of distinct ones among them that makes it worth examining more."""

ENOUGH = 1.25
"""How many bytes of values are examined, as a multiple of what a dictionary may have: Arrow's offsets are among them."""

LARGE_VALUE = 1024 * 1024
"""Bytes of a value, on average of the first rows, from which on a column is written without statistics."""

LENGTH_BYTES = 4
"""What a value in a dictionary takes beside itself."""


def with_dictionary(
    schema: pa.Schema,
    first: pa.Table,
    paths: Iterable[str],
    limit: int,
    never: Collection[str] = (),
    filled: set[str] | None = None,
) -> bool | list[str]:
    """Return those of a file's columns, by Parquet's paths, that get a dictionary; True for all of them.

    ``schema`` is the file's; ``first`` are its first rows, with the columns at the same places. Columns of texts go without
    whose dictionary would be larger than ``limit`` bytes before these rows are written, and those of ``never``.
    ``filled``: those that did in an earlier file of the table, to which those of this one are added; of them only the
    ``FIRST`` values are examined.
    """
    known = set[str]() if filled is None else filled
    without = {
        field.name
        for field, column in zip(schema, first.columns, strict=True)
        if _is_text(field.type) and _would_be_given_up(column, limit, was_before=field.name in known)
    }
    known |= without
    without.update(never)
    return [path for path in paths if path not in without] if without else True


def with_negative_zero(floats: Iterable[Leaf], rows: pa.Table) -> set[str]:
    """Return those of the columns of floats and doubles, by Parquet's paths, that have a -0.0 in these rows."""
    return {leaf.path for leaf in floats if any(_has_negative_zero(leaf, values) for values in leaf.values(rows))}


def _has_negative_zero(leaf: Leaf, values: pa.Array) -> bool:
    buffer = values.buffers()[1]
    if buffer is None or not len(values):
        return False
    bits = np.dtype(np.int64 if isinstance(leaf.type, DoubleType) else np.int32)
    # values under nulls may look like one: such a column has no dictionary then, without need
    raw = np.frombuffer(buffer, bits, len(values), values.offset * bits.itemsize)
    return int(raw.min()) == -(1 << 8 * bits.itemsize - 1)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_string(kind) or pa.types.is_large_binary(kind))


def _would_be_given_up(column: pa.ChunkedArray, limit: int, *, was_before: bool) -> bool:
    if column.nbytes < limit or pc.count_distinct(column.slice(0, FIRST)).as_py() < NEW * FIRST:
        return False
    if was_before:
        return True
    values = pc.unique(column.slice(0, int(ENOUGH * limit * len(column) / column.nbytes)))
    return bool(pc.sum(pc.binary_length(values)).as_py() + LENGTH_BYTES * len(values) > limit)


def with_statistics(schema: pa.Schema, first: pa.Table, paths: Iterable[str]) -> list[str]:
    """Return those of a file's columns, by Parquet's paths, that get statistics: all but those with values of megabytes.

    Arrow copies the least and the greatest value several times, and writes neither where they are that long.
    """
    large = {
        field.name
        for field, column in zip(schema, first.columns, strict=True)
        if _is_text(field.type) and column.nbytes > LARGE_VALUE * len(column)
    }
    return [path for path in paths if path not in large]
