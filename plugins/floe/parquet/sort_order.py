"""Rows in a table's sort order."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import NullOrder, SortDirection, SortOrder

from floe.parquet.source_column import SourceColumn

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RowOrder:
    """A sort order that rows can be brought into; ``order_id`` is the table's number for it.

    ``keys``: each column with its direction and the place of its nulls, in Arrow's words.
    """

    order_id: int
    keys: tuple[tuple[SourceColumn, str, str], ...]

    @classmethod
    def of(cls, order: SortOrder, schema: Schema) -> RowOrder | None:
        """Read a table's order; None when it has none.

        An order that cannot be kept is left out with a warning: files without it are as right as others, only slower.
        """
        keys = []
        for field in order.fields:
            column = SourceColumn.find(schema, field.source_id, field.transform)
            if column is None or not field.transform.can_transform(column.type):
                log.warning(
                    "rows are not sorted: field %s of sort order %s is of no column that can be sorted by here; "
                    "replace the table's sort order to have its files sorted",
                    field,
                    order.order_id,
                )
                return None
            direction = "ascending" if field.direction is SortDirection.ASC else "descending"
            nulls = "at_start" if field.null_order is NullOrder.NULLS_FIRST else "at_end"
            keys.append((column, direction, nulls))
        return cls(order.order_id, tuple(keys)) if keys else None

    def sort(self, rows: pa.Table) -> pa.Table:
        """Return rows in this order; those that are equal by it keep the order they have."""
        columns = {str(i): _comparable(column.of(rows)) for i, (column, _, _) in enumerate(self.keys)}
        keys = [(str(i), direction, nulls) for i, (_, direction, nulls) in enumerate(self.keys)]
        return rows.take(pc.sort_indices(pa.table(columns), sort_keys=keys))


def _comparable(values: pa.Array) -> pa.Array:
    """Turn floats into integers of the same order, as the spec has it: -NaN < -Infinity < -0 < 0 < Infinity < NaN.

    Arrow puts NaN beside the nulls and takes the zeros for equal. A negative float's bits grow away from zero: all but
    the sign are turned round.
    """
    if not pa.types.is_floating(values.type):
        return values
    bits = pa.int64() if values.type == pa.float64() else pa.int32()
    raw = values.view(bits)
    turned = pc.bit_wise_xor(raw, pa.scalar(2 ** (bits.bit_width - 1) - 1, bits))
    return pc.if_else(pc.less(raw, 0), turned, raw)
