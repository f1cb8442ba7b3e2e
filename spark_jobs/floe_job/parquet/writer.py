"""The files that one task writes into one table."""

from __future__ import annotations

import re
from collections import OrderedDict
from itertools import count
from uuid import uuid4

import pyarrow as pa
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import Properties, Record

from floe_job.parquet.data_file import DataFileWriter
from floe_job.parquet.layout import FileLayout
from floe_job.parquet.partitions import Partitioner, Values

MAX_OPEN = 64
BUFFER_BYTES = 64 * 1024 * 1024


class TableWriter:
    """Writes rows to data files, one or more per partition.

    Memory is bounded by rows waiting for their row group (``buffer_bytes`` over all partitions, in Arrow's size) and by
    open files (``max_open``): beyond the first the largest row group is written, beyond the second the file least
    recently written to is finished. Files are never deleted: those of a task that failed stay behind as orphans.
    """

    def __init__(
        self,
        metadata: TableMetadata,
        io: FileIO,
        schema: Schema,
        spec: PartitionSpec,
        properties: Properties,
        name_hint: str,
        *,
        max_open: int = MAX_OPEN,
        buffer_bytes: int = BUFFER_BYTES,
    ) -> None:
        """Write with ``schema`` and ``spec`` under the table's location; ``properties`` are the table's and the
        connector's, merged. ``name_hint`` tells the task in file names, which are unique by themselves.
        """
        self._io = io
        self._layout = FileLayout.of(schema, properties)
        self._locations = load_location_provider(metadata.location, properties)
        self._partitioner = Partitioner(spec, schema)
        self._max_open = max_open
        self._buffer_bytes = buffer_bytes
        self._stem = f"00000-{re.sub(r'[^A-Za-z0-9_.-]', '_', name_hint)}-{uuid4()}"
        self._numbers = count(1)
        self._waiting: dict[Values, _RowGroup] = {}
        self._waiting_bytes = 0
        self._open: OrderedDict[Values, DataFileWriter] = OrderedDict()
        self._done: list[DataFile] = []

    def write(self, rows: pa.Table) -> None:
        """Take rows in the Arrow schema of the table's schema."""
        if not rows.schema.equals(self._layout.table_schema):
            problem = f"rows do not have the table's schema: {rows.schema} instead of {self._layout.table_schema}"
            raise ValueError(problem)
        if not rows.num_rows:
            return
        for partition, part in self._partitioner.split(rows):
            group = self._waiting.setdefault(partition, _RowGroup())
            group.add(part)
            self._waiting_bytes += part.nbytes
            if group.bytes >= self._layout.row_group_bytes or group.rows >= self._layout.row_group_rows:
                self._flush(partition)
            while self._waiting_bytes > self._buffer_bytes:
                self._flush(max(self._waiting, key=lambda key: self._waiting[key].bytes))

    def close(self) -> list[DataFile]:
        """Finish all files and describe them, in the order they were finished."""
        for partition in list(self._waiting):
            self._flush(partition)
        while self._open:
            self._finish(next(iter(self._open)))
        return self._done

    def abort(self) -> None:
        """Let go of everything; what is written stays behind as orphans."""
        self._waiting.clear()
        self._waiting_bytes = 0
        while self._open:
            self._open.popitem()[1].abort()

    def _flush(self, partition: Values) -> None:
        group = self._waiting.pop(partition)
        self._waiting_bytes -= group.bytes
        file = self._file(partition)
        file.write(pa.concat_tables(group.parts))
        if file.is_full:
            self._finish(partition)

    def _file(self, partition: Values) -> DataFileWriter:
        if partition in self._open:
            self._open.move_to_end(partition)
            return self._open[partition]
        while len(self._open) >= self._max_open:
            self._finish(next(iter(self._open)))
        location = self._locations.new_data_location(
            f"{self._stem}-{next(self._numbers):05d}.parquet", self._partitioner.partition(partition)
        )
        self._open[partition] = DataFileWriter(self._io, location, self._layout, Record(*partition))
        return self._open[partition]

    def _finish(self, partition: Values) -> None:
        self._done.append(self._open.pop(partition).close())


class _RowGroup:
    """Rows of one partition that wait to be many enough."""

    def __init__(self) -> None:
        self.parts: list[pa.Table] = []
        self.rows = 0
        self.bytes = 0

    def add(self, part: pa.Table) -> None:
        self.parts.append(part)
        self.rows += part.num_rows
        self.bytes += part.nbytes
