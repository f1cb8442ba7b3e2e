"""Rows by partition."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import blake2b
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.partitioning import PartitionField, PartitionKey, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record

from floe.parquet.exceptions import UnsupportedColumn
from floe.parquet.source_column import SourceColumn

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
