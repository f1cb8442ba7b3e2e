"""What a table's columns need of records, worked out backwards through the transforms of a chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.types import IcebergType

from floe_job.source.record_batch import Records

Mask = np.ndarray[Any, np.dtype[np.bool_]]
"""Rows of a column."""

Op = Callable[[pa.Array], tuple[pa.Array, Mask | None]]
"""Changes a column; the mask has the rows whose value has to be found the exact way, None for no row."""

Make = Callable[[Records], tuple[pa.Array, Mask | None]]
"""Makes a column of something else than the records' values, and says which rows need the exact way, as an ``Op`` does."""


@dataclass(frozen=True)
class Demand:
    """What a column is made of at some place of the chain.

    ``field``: the field of the record that it is read from, in the type ``kind``; None for one that no field fills.
    ``ops``: what changes it, in their order. ``make``: makes it, where no field does.
    """

    field: str | None
    kind: IcebergType
    ops: tuple[Op, ...] = ()
    make: Make | None = None

    def of(self, field: str | None) -> Demand:
        """Return the same of another field."""
        return replace(self, field=field)

    def after(self, op: Op, kind: IcebergType) -> Demand:
        """Return the demand before a transform, which reads the field in a type and changes it so."""
        return replace(self, kind=kind, ops=(op, *self.ops))


@dataclass(frozen=True)
class Demands:
    """What all columns of a table are made of.

    ``columns``: by the table's columns. ``hidden``: fields of records that mean nothing. ``probed``: fields whose records
    have to be read the exact way. ``closed``: whether all other fields mean nothing. ``grows``: whether a field without a
    column gets one.
    """

    columns: Mapping[str, Demand]
    grows: bool
    hidden: frozenset[str] = frozenset()
    probed: frozenset[str] = frozenset()
    closed: bool = False

    def has(self, field: str) -> bool:
        """Whether a column is read from a field."""
        return any(demand.field == field for demand in self.columns.values())

    def written(self, field: str, make: Callable[[IcebergType], Make | None]) -> Demands | None:
        """Return the demands before a transform that writes a field; None where a column cannot be made.

        ``make``: returns what makes a column of a type. After the transform every record has the field.
        """
        if field in self.probed:
            return None
        if self.grows and not self.closed and not self.has(field) and field not in self.hidden:
            return None  # the table has to get the column first
        columns = dict(self.columns)
        for name, demand in self.columns.items():
            if demand.field == field:
                made = make(demand.kind)
                if made is None:
                    return None
                columns[name] = replace(demand, field=None, make=made)
        return replace(self, columns=columns, hidden=self.hidden | {field})

    def changed(self, field: str, change: Callable[[Demand], Demand | None]) -> Demands | None:
        """Return the demands before a transform that changes the values of a field; None where columns cannot be changed.

        After the transform every record has the field, null if it had none. The transform may refuse a value that no column
        is read from: such records are read the exact way.
        """
        if field in self.probed:
            return None
        columns = dict(self.columns)
        for name, demand in self.columns.items():
            if demand.field == field:
                before = change(demand)
                if before is None:
                    return None
                columns[name] = before
        return replace(self, columns=columns, probed=self.probed if self.has(field) else self.probed | {field})
