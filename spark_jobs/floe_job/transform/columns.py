"""Columns of a batch: a part of them, and two of them in one order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from floe_job.convert.typed.whole.values import TypedColumns, TypedValues
from floe_job.source.record_batch import ParsedValues

Order = np.ndarray[Any, np.dtype[np.int64]]
"""Places in two columns, one after the other, as the joined one has them."""


def some(column: Sequence[Any] | None, rows: Sequence[int]) -> Sequence[Any] | None:
    """Return some of a column's entries; None for none."""
    return None if column is None else [column[row] for row in rows]


def both(first: Sequence[Any], other: Sequence[Any], order: Order) -> Sequence[Any]:
    """Return the entries of two columns in one order."""
    entries = [*first, *other]
    return [entries[place] for place in order.tolist()]


def joined_values(first: Any, other: Any, order: Order) -> Any:
    """Return the values of two batches in one order; None if they are unread."""
    if first is None:
        return None
    if isinstance(first, TypedColumns) and isinstance(other, TypedColumns):
        landing = np.empty(len(order), np.int64)
        landing[order] = np.arange(len(order))
        return first.joined(other, landing[: len(first)], landing[len(first) :])
    mine, theirs = objects_of(first), objects_of(other)
    values = both(mine, theirs, order)
    if isinstance(mine, TypedValues) or isinstance(theirs, TypedValues):
        return TypedValues(values, both(schemas_of(mine), schemas_of(theirs), order))
    return ParsedValues(values)


def objects_of(values: Any) -> ParsedValues:
    """Return parsed values as objects."""
    found: ParsedValues = values.objects() if isinstance(values, TypedColumns) else values
    return found


def schemas_of(values: Any) -> Sequence[Any]:
    """Return the schema of each parsed value; None for one that has none."""
    typed = values.objects() if isinstance(values, TypedColumns) else values
    return typed.schemas if isinstance(typed, TypedValues) else [None] * len(values)
