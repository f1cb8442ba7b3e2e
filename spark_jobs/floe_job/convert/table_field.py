"""One field of values, as text: read as the only column of a table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, NestedField, StringType, StructType

from floe_job.contract.rejected_record import Rejected
from floe_job.convert.base import TableConverter
from floe_job.convert.column_limits import Part, in_parts
from floe_job.source.record_batch import ParsedValues


class TableField:
    """Reads a field as a table's text column is read: numbers and booleans by their text."""

    def __init__(self, path: tuple[str, ...], table: TableConverter) -> None:
        """``table``: the converter of a table with ``schema_of(path)``."""
        self._path = path
        self._table = table

    def read(self, values: Sequence[bytes] | ParsedValues) -> tuple[Sequence[Rejected], pa.Array]:
        """Return the texts of those records that are not rejected, null where there is none."""
        rejected: list[Rejected] = []
        texts: list[pa.Array] = []
        for part, (refused, found) in in_parts(len(values), lambda part: self._read(_some(values, part))):
            rejected += [one.at(part.first + one.index) for one in refused]
            texts.append(found)
        return rejected, texts[0] if len(texts) == 1 else pa.concat_arrays(texts)

    def _read(self, values: Sequence[bytes] | ParsedValues) -> tuple[Sequence[Rejected], pa.Array]:
        decoded = self._table.decode(values)
        assert decoded.table is not None  # noqa: S101 - it has a schema, and lacks nothing
        column: Any = decoded.table.column(self._path[0]).combine_chunks()
        if len(self._path) > 1:
            column = pc.struct_field(column, list(self._path[1:]))
        return decoded.rejected, column.cast(pa.large_string())


def _some(values: Sequence[bytes] | ParsedValues, part: Part) -> Sequence[bytes] | ParsedValues:
    if part == (0, len(values)):
        return values
    rows = range(*part)
    return values.select(rows) if isinstance(values, ParsedValues) else values[part.first : part.last]


@lru_cache
def schema_of(path: tuple[str, ...]) -> Schema:
    """Return the schema of nothing but the field, as text."""
    kind: IcebergType = StringType()
    for depth in range(len(path) - 1, 0, -1):
        kind = StructType(NestedField(depth + 1, path[depth], kind, required=False))
    return Schema(NestedField(1, path[0], kind, required=False))
