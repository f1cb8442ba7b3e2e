"""Columns that a partition spec or a sort order is made from: found by field id, transformed as Iceberg says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.schema import Schema
from pyiceberg.transforms import Transform, TruncateTransform
from pyiceberg.types import IcebergType, StructType


@dataclass(frozen=True)
class SourceColumn:
    """A column at the table's root or inside structs, with what is made of its values."""

    path: tuple[str, ...]
    type: IcebergType
    transform: Transform[Any, Any]

    @classmethod
    def find(cls, schema: Schema, field_id: int, transform: Transform[Any, Any]) -> SourceColumn | None:
        """Find the column; None where the schema has no such field, or has it inside a list or a map."""
        path = _path(schema.as_struct(), field_id)
        return cls(path, schema.find_field(field_id).field_type, transform) if path else None

    def source(self, rows: pa.Table) -> pa.Array:
        """Return the values of rows as they are; null where a struct around them is."""
        source = rows.column(self.path[0]).combine_chunks()
        return pc.struct_field(source, list(self.path[1:])) if len(self.path) > 1 else source

    def of(self, rows: pa.Table) -> pa.Array:
        """Return the transformed values in Iceberg's representation of partition records: days, microseconds, bytes."""
        source = self.source(rows)
        if isinstance(self.transform, TruncateTransform) and pa.types.is_large_binary(source.type):
            # The Rust transform takes only binary with short offsets.
            return pc.binary_slice(source, 0, self.transform.width)
        return _physical(self.transform.pyarrow_transform(self.type)(source))


def _physical(column: pa.Array) -> pa.Array:
    if isinstance(column, pa.ExtensionArray):
        return column.storage
    if pa.types.is_date(column.type):
        return column.view(pa.int32())
    return column.view(pa.int64()) if pa.types.is_temporal(column.type) else column


def _path(struct: StructType, field_id: int) -> tuple[str, ...]:
    """Return the names from the table's root to a field inside structs; empty if it is not there."""
    for field in struct.fields:
        if field.field_id == field_id:
            return (field.name,)
        if isinstance(field.field_type, StructType) and (inner := _path(field.field_type, field_id)):
            return (field.name, *inner)
    return ()
