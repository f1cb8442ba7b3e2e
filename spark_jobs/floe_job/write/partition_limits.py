"""Rows without a partition value that a manifest can hold.

``truncate`` rounds a number down to a multiple of its width, and near the minimum of its type there is none. Iceberg's
Java library fails on such a decimal, and turns an int or a long into one of the largest numbers, so that no range finds
the row. PyIceberg also writes no null for a required column, although a struct around it may be null.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import TruncateTransform, VoidTransform
from pyiceberg.types import DecimalType, IntegerType, LongType, StructType
from pyiceberg.utils.decimal import unscaled_to_decimal

from floe.parquet.partitions import SourceColumn
from floe_job.exceptions import Unconvertible


@dataclass(frozen=True)
class _Limit:
    """What a column may be: not null unless ``takes_null``, and not below ``least``."""

    column: SourceColumn
    takes_null: bool
    least: pa.Scalar | None

    def refused(self, rows: pa.Table) -> dict[int, str]:
        values = self.column.source(rows)
        refused = {}
        if not self.takes_null and values.null_count:
            why = self._reason(
                "null with its struct, and the table is partitioned by it: such a file cannot be committed"
            )
            refused = dict.fromkeys(pc.indices_nonzero(pc.is_null(values)).to_pylist(), why)
        if self.least is not None:
            beyond = f"has no partition: {self.column.transform} takes it below what {self.column.type} holds"
            below = pc.indices_nonzero(pc.less(values, self.least)).to_pylist()
            refused |= {index: self._reason(f"{values[index].as_py()} {beyond}") for index in below}
        return refused

    def _reason(self, problem: str) -> str:
        error = Unconvertible(problem)
        for name in reversed(self.column.path):
            error.inside(name)
        return error.reason


class PartitionLimits:
    """The limits of a partition spec; false if it has none, as most."""

    def __init__(self, spec: PartitionSpec, schema: Schema) -> None:
        """Find the columns. Missing ones are skipped: the rows' writer refuses them by name."""
        self._limits = [limit for field in spec.fields if (limit := _limit(field, schema)) is not None]

    def __bool__(self) -> bool:
        return bool(self._limits)

    def refused(self, rows: pa.Table) -> dict[int, str]:
        """Return the rows that have no partition, by index, each with the reason."""
        return {index: why for limit in reversed(self._limits) for index, why in limit.refused(rows).items()}


def _limit(field: PartitionField, schema: Schema) -> _Limit | None:
    column = SourceColumn.find(schema, field.source_id, field.transform)
    if column is None or isinstance(field.transform, VoidTransform):
        return None
    takes_null, least = not _is_hidden(schema.as_struct(), column.path), _least(column)
    return None if takes_null and least is None else _Limit(column, takes_null, least)


def _is_hidden(struct: StructType, path: tuple[str, ...], *, may_be_null: bool = False) -> bool:
    """Return whether a column is required, and a struct around it is not."""
    field = next(field for field in struct.fields if field.name == path[0])
    if isinstance(field.field_type, StructType):
        return _is_hidden(field.field_type, path[1:], may_be_null=may_be_null or field.optional)
    return may_be_null and field.required


def _least(column: SourceColumn) -> pa.Scalar | None:
    """Return the least value that can be truncated; None where every one can."""
    of, transform = column.type, column.transform
    if not isinstance(transform, TruncateTransform):
        return None
    if isinstance(of, DecimalType):
        least = _least_multiple(1 - 10**of.precision, transform.width)
        kind = pa.decimal128(of.precision, of.scale)
        return None if least is None else pa.scalar(unscaled_to_decimal(least, of.scale), kind)
    kind = next((kind for integer, kind in _INTEGERS.items() if isinstance(of, integer)), None)
    least = None if kind is None else _least_multiple(-(2 ** (kind.bit_width - 1)), transform.width)
    return None if least is None else pa.scalar(least, kind)


_INTEGERS = {IntegerType: pa.int32(), LongType: pa.int64()}


def _least_multiple(lowest: int, width: int) -> int | None:
    """Return the least multiple that is not below ``lowest``; None where that is one itself."""
    least = -(-lowest // width * width)
    return None if least == lowest else least
