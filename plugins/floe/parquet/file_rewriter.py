"""Rows of one data file in a new file of the same partition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from uuid import uuid4

import pyarrow as pa
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.metadata import TableMetadata

from floe.parquet.data_file import DataFileWriter
from floe.parquet.layout import FileLayout

BATCH_BYTES = 64 * 1024 * 1024
"""Of rows that are kept in memory before they are written as a row group."""


@dataclass(frozen=True)
class FileRewriter:
    """Writes rows that stay to new files under a table's location.

    ``properties``: the table's with the connector's write-props over them. The rows of a file are not split: its partition
    may be of a spec whose columns the schema has no more.
    """

    metadata: TableMetadata
    io: FileIO
    schema: Schema
    properties: Mapping[str, str]
    _layout: FileLayout = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Read the layout. Raises UnsupportedFileFormat, UnsupportedColumn."""
        object.__setattr__(self, "_layout", FileLayout.of(self.schema, dict(self.properties)))

    def rewrite(self, origin: DataFile, batches: Iterable[pa.RecordBatch]) -> DataFile:
        """Write rows of ``origin``, in their order, and describe the new file; there is at least one row.

        ``batches`` have the table's schema; their text and lists may have short offsets.
        """
        groups = (self._of_table(rows) for rows in _gathered(batches))
        first = next(groups)
        is_last = first.nbytes < BATCH_BYTES
        name = f"00000-replaced-{uuid4()}.parquet"
        location = load_location_provider(self.metadata.location, dict(self.properties)).new_data_location(name)
        file = DataFileWriter.open(self.io, location, self._layout, origin.partition, first, takes_all=not is_last)
        try:
            file.write(first)
            for rows in groups:
                file.write(rows)
            return file.close(sort_order_id=origin.sort_order_id)
        except BaseException:
            file.abort()
            raise

    def _of_table(self, rows: pa.Table) -> pa.Table:
        wanted = self._layout.table_schema
        return rows if rows.schema.equals(wanted) else rows.cast(wanted)


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Join batches to row groups of bounded size; those without rows are left out."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            size += batch.nbytes
        if size >= BATCH_BYTES:
            yield pa.Table.from_batches(waiting)
            waiting, size = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)
