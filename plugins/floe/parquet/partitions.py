"""Rows by partition."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.partitioning import PartitionField, PartitionKey, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import NullOrder, SortDirection, SortOrder
from pyiceberg.transforms import Transform, TruncateTransform
from pyiceberg.typedef import Record
from pyiceberg.types import IcebergType, StructType

from floe.parquet.exceptions import UnsupportedColumn

Values = tuple[Any, ...]

MAX_PART_LENGTH = 150
"""Bytes of a part of a path. File systems take names of 255, and some location providers put the file's own name (70)
behind it."""
MAX_PATH_LENGTH = 500
"""Bytes. S3 takes keys of 1024, the table's location among them."""


class Partition(PartitionKey):
    """One partition as a location provider asks for it.

    PyIceberg's own key refuses two transforms of one column, which a spec may well have.
    """

    def __init__(self, values: Values, spec: PartitionSpec, schema: Schema) -> None:
        """Keep the values of the spec's fields, in Iceberg's representation."""
        super().__init__([], spec, schema)
        self.__dict__["partition"] = Record(*values)

    def to_path(self) -> str:
        """Return ``name=value/name=value``, quoted; long values are shortened."""
        return bounded(super().to_path())


class Partitioner:
    """Splits rows by the values of a partition spec, keeping their order within each partition."""

    def __init__(self, spec: PartitionSpec, schema: Schema) -> None:
        """Find the source column of each field, nested ones included. Raises UnsupportedColumn."""
        self._spec = spec
        self._schema = schema
        self._columns = [_source(schema, field) for field in spec.fields]

    def partition(self, values: Values) -> Partition | None:
        """Return the key of a partition; None where the table has none."""
        return Partition(values, self._spec, self._schema) if self._columns else None

    def split(self, rows: pa.Table) -> Iterator[tuple[Values, pa.Table]]:
        """Yield each partition's values with its rows, as copies that do not keep ``rows`` alive."""
        if not self._columns:
            yield (), rows
            return
        columns = [_with_one_zero(column.of(rows)) for column in self._columns]
        groups = _group(columns)
        # Groups are numbered as they appear, and counted in that order.
        sizes = pc.value_counts(groups).field("counts").to_pylist()
        starts = [0, *accumulate(sizes)][:-1]
        order = pc.sort_indices(groups)
        firsts = order.take(pa.array(starts, pa.int64()))
        partitions = zip(*(column.take(firsts).to_pylist() for column in columns), strict=True)
        for values, start, size in zip(partitions, starts, sizes, strict=True):
            yield values, rows if size == len(rows) else rows.take(order.slice(start, size))


def _source(schema: Schema, field: PartitionField) -> SourceColumn:
    column = SourceColumn.find(schema, field.source_id, field.transform)
    if column is None:
        problem = (
            f"partition field {field.name!r} is of column {field.source_id}, which the schema does not have, or has inside "
            "a list or a map: floe cannot determine a row's partition. Replace the field in the table's partition spec (of "
            "format version 1 it only becomes void: upgrade the table to 2 and remove it then)"
        )
        raise UnsupportedColumn(problem)
    return column


def _with_one_zero(values: pa.Array) -> pa.Array:
    """Make 0.0 of -0.0: readers look one partition up, and to Iceberg's Java library these are two."""
    return pc.add(values, pa.scalar(0.0, values.type)) if pa.types.is_floating(values.type) else values


def _group(columns: list[pa.Array]) -> pa.Array:
    """Number the distinct combinations of values, in order of appearance; null is a value."""
    numbers: pa.Array | None = None
    for column in columns:
        codes = column.dictionary_encode(null_encoding="encode").indices.cast(pa.int64())
        if numbers is not None:
            codes = pc.add(pc.multiply(numbers, len(codes) + 1), codes).dictionary_encode().indices.cast(pa.int64())
        numbers = codes
    return numbers


def bounded(path: str) -> str:
    """Shorten ``name=value/name=value``, quoted, to what every store takes; different paths stay different."""
    parts = "/".join(_cut(part) for part in path.split("/"))
    return parts if len(parts) <= MAX_PATH_LENGTH else _cut(path.replace("/", "-"))


def _cut(part: str) -> str:
    """End a long part with its hash."""
    if len(part) <= MAX_PART_LENGTH:
        return part
    digest = blake2b(part.encode(), digest_size=8).hexdigest()
    start = part[: MAX_PART_LENGTH - len(digest) - 1]
    return f"{re.sub('%[0-9A-F]?$', '', start)}-{digest}"


# Columns that a partition spec or a sort order is made from: found by field id, transformed as Iceberg says.


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


# Rows in a table's sort order.


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
