"""Rows by partition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.partitioning import PartitionField, PartitionKey, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import TruncateTransform
from pyiceberg.typedef import Record
from pyiceberg.types import StructType

Values = tuple[Any, ...]


class Partition(PartitionKey):
    """One partition as a location provider asks for it.

    PyIceberg's own key refuses two transforms of one column, which a spec may well have.
    """

    def __init__(self, values: Values, spec: PartitionSpec, schema: Schema) -> None:
        """Hold the values of the spec's fields, in Iceberg's representation."""
        super().__init__([], spec, schema)
        self.__dict__["partition"] = Record(*values)


class Partitioner:
    """Splits rows by the values of a partition spec, keeping their order within each partition."""

    def __init__(self, spec: PartitionSpec, schema: Schema) -> None:
        """Find the source column of each field, nested ones included."""
        self._spec = spec
        self._schema = schema
        self._paths = [_path(schema.as_struct(), field.source_id) for field in spec.fields]

    def partition(self, values: Values) -> Partition | None:
        """Return the key of a partition; None where the table has none."""
        return Partition(values, self._spec, self._schema) if self._paths else None

    def split(self, rows: pa.Table) -> Iterator[tuple[Values, pa.Table]]:
        """Yield each partition's values with its rows, as copies that do not keep ``rows`` alive."""
        if not self._paths:
            yield (), rows
            return
        columns = [self._transformed(rows, *field) for field in zip(self._spec.fields, self._paths, strict=True)]
        groups = _group(columns)
        order = pc.sort_indices(groups)
        start = 0
        for size in _sizes(groups):
            indices = order.slice(start, size)
            start += size
            values = tuple(column[indices[0].as_py()].as_py() for column in columns)
            yield values, rows if size == len(rows) else rows.take(indices)

    def _transformed(self, rows: pa.Table, field: PartitionField, path: tuple[str, ...]) -> pa.Array:
        source = rows.column(path[0]).combine_chunks()
        if len(path) > 1:
            source = pc.struct_field(source, list(path[1:]))
        if isinstance(field.transform, TruncateTransform) and pa.types.is_large_binary(source.type):
            # The Rust transform takes only binary with short offsets.
            return pc.binary_slice(source, 0, field.transform.width)
        source_type = self._schema.find_field(field.source_id).field_type
        return _physical(field.transform.pyarrow_transform(source_type)(source))


def _physical(column: pa.Array) -> pa.Array:
    """Take values as Iceberg holds them in partition records: days, microseconds, bytes."""
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


def _group(columns: list[pa.Array]) -> pa.Array:
    """Number the distinct combinations of values, in order of appearance; null is a value."""
    numbers: pa.Array | None = None
    for column in columns:
        codes = column.dictionary_encode(null_encoding="encode").indices.cast(pa.int64())
        if numbers is not None:
            codes = pc.add(pc.multiply(numbers, len(codes) + 1), codes).dictionary_encode().indices.cast(pa.int64())
        numbers = codes
    return numbers


def _sizes(groups: pa.Array) -> list[int]:
    counts = {entry["values"]: entry["counts"] for entry in pc.value_counts(groups).to_pylist()}
    return [counts[group] for group in sorted(counts)]
