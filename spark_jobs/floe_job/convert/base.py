"""Converters: from the bytes of records to rows, to a route's field, or to whole values.

One implementation per kind of bytes, chosen by ``floe_job.convert.makers``. Each of them guarantees:

* A record that cannot be read is the only one rejected; the order of the others does not change.
* The result is the same however the records are cut into batches.
* The result is exact: a value that its column cannot hold without loss rejects its record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.schema import Schema
from pyiceberg.table.name_mapping import NameMapping
from pyiceberg.types import IcebergType, NestedField, StringType, StructType

from floe_job.contract.dead_letter import Rejected
from floe_job.convert.column_limits import ChunkPart, in_parts
from floe_job.schema.evolution import SchemaChanges
from floe_job.schema.proposal import ColumnRules
from floe_job.source.record_batch import ParsedValues


@dataclass(frozen=True)
class Decoded:
    """A decoded batch.

    ``table`` holds the accepted rows in input order, in the Arrow schema of the Iceberg schema with its field ids; None
    for a table that does not exist yet, or lacks something. ``fast_rows`` of the ``records`` took the columnar path.
    """

    table: pa.Table | None
    rejected: tuple[Rejected, ...]
    fast_rows: int
    records: int

    @property
    def fast(self) -> bool:
        """Return whether every record took the columnar path."""
        return self.fast_rows == self.records


@dataclass(frozen=True)
class Parsed:
    """Whole values, one for each record; None for a tombstone, and for what was rejected.

    ``values``: a ``ParsedValues``, or of formats with schemas ``convert.typed.whole.values.TypedColumns``.
    """

    values: Any
    rejected: tuple[Rejected, ...]


class TableConverter(Protocol):
    """Turns the values of records into rows of one table."""

    @property
    def needs(self) -> SchemaChanges:
        """What records contain and the table lacks, over all calls. As long as anything is missing, no rows are returned."""

    def decode(self, values: Sequence[bytes] | ParsedValues) -> Decoded:
        """Decode values, none of them None: bytes, or what this converter parsed and transforms have changed.

        Raises SchemaConflict, for two types of one new column, if the rules say so; ColumnsTooLarge, for several values whose
        columns would take too much memory together: nothing was noted of them.
        """


class FieldConverter(Protocol):
    """Reads one field of the values of records."""

    def read(self, values: Sequence[bytes] | ParsedValues) -> tuple[Sequence[Rejected], pa.Array]:
        """Return the field's texts (large_string, null where there is none) of the records that are not rejected."""


class Converters(Protocol):
    """What one kind of bytes can be turned into. One per task, for all of its uses."""

    def for_table(
        self, schema: Schema | None, rules: ColumnRules, *, create: bool, name_mapping: NameMapping | None = None
    ) -> TableConverter:
        """Make the converter of one table; ``schema`` is None for one that is yet to be created."""

    def for_field(self, path: tuple[str, ...]) -> FieldConverter:
        """Make the reader of one field, by its path."""

    def for_key(self, path: tuple[str, ...]) -> FieldConverter:
        """Make the reader of keys: of one field, by its path, or of the whole key where that is empty.

        A key that cannot be read is rejected by ``key_converter``. By another stage: one without such a text.
        """

    def whole(self, values: Sequence[bytes | None]) -> Parsed:
        """Parse whole values, for transforms that need them. Raises ColumnsTooLarge, as ``decode`` does."""


# One field of values, as text: read as the only column of a table.


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


def _some(values: Sequence[bytes] | ParsedValues, part: ChunkPart) -> Sequence[bytes] | ParsedValues:
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
