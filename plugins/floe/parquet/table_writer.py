"""The files that one task writes into one table."""

from __future__ import annotations

import re
from collections.abc import Callable
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

from floe.catalogs import pyiceberg_patches
from floe.parquet.budget import WriteBudget
from floe.parquet.data_file import DataFileWriter
from floe.parquet.layout import FileLayout
from floe.parquet.partitions import Partitioner, RowOrder, Values

pyiceberg_patches.apply()  # a worker makes location providers of properties that the driver sent


class TableWriter:
    """Writes rows to data files, one or more per partition, each row group in the table's sort order.

    Memory is bounded by a budget for all writers of one task: a call of one may write row groups and finish
    files of another. Files are never deleted: those of a failed task remain as orphans.
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
        budget: WriteBudget | None = None,
    ) -> None:
        """Write with ``schema`` and ``spec`` under the table's location; ``properties`` are the table's and the
        connector's, merged. ``name_hint`` names the task in file names, which are unique by themselves. Without
        ``budget`` the writer has one of its own. Raises UnsupportedFileFormat, UnsupportedColumn.
        """
        self._io = io
        self._layout = FileLayout.of(schema, properties)
        self._order = RowOrder.of(metadata.sort_order(), schema)
        self._locations = load_location_provider(metadata.location, properties)
        self._partitioner = Partitioner(spec, schema)
        self._budget = budget or WriteBudget()
        self._stem = f"00000-{re.sub(r'[^A-Za-z0-9_.-]', '_', name_hint)}-{uuid4()}"
        self._numbers = count(1)
        self._partitions: dict[Values, PartitionWriter] = {}
        self._done: list[DataFile] = []

    def write(self, rows: pa.Table) -> None:
        """Take rows in the Arrow schema of the table's schema."""
        if not rows.schema.equals(self._layout.table_schema):
            problem = f"rows do not have the table's schema: {rows.schema} instead of {self._layout.table_schema}"
            raise ValueError(problem)
        if not rows.num_rows:
            return
        # Measuring is slow for small parts: all rows are measured once, and each part counts in proportion.
        bytes_per_row = rows.nbytes / rows.num_rows
        for values, part in self._partitioner.split(rows):
            self._partition(values).add(part, round(part.num_rows * bytes_per_row))
            self._budget.enforce()

    def try_out(self) -> None:
        """Write a file without rows into memory. Raises what Arrow raises for options that it does not take."""
        self._layout.try_out()

    def finish_files(self) -> None:
        """Finish all files; rows that come later begin new ones."""
        for partition in self._partitions.values():
            partition.close()
        self._partitions.clear()

    def close(self) -> list[DataFile]:
        """Finish all files and describe them, in the order they were finished."""
        self.finish_files()
        return self._done

    def abort(self) -> None:
        """Drop everything. What is written remains as orphans."""
        for partition in self._partitions.values():
            partition.abort()

    def _partition(self, values: Values) -> PartitionWriter:
        partition = self._partitions.get(values)
        if partition is None:
            partition = PartitionWriter(
                self._layout, self._budget, lambda first: self._new_file(values, first), self._done.append
            )
            self._partitions[values] = partition
        return partition

    def location(self) -> str:
        """Return where a file without partition would be. Only its folder counts; the name is no file's."""
        return self._locations.new_data_location(f"{self._stem}.parquet")

    def _new_file(self, values: Values, first: pa.Table) -> DataFileWriter:
        name = f"{self._stem}-{next(self._numbers):05d}.parquet"
        location = self._locations.new_data_location(name, self._partitioner.partition(values))
        return DataFileWriter.open(self._io, location, self._layout, Record(*values), first, self._order)


# The rows that wait and the file that is open for one partition of one table.


class PartitionWriter:
    """Gathers rows to row groups and writes them to one file after another.

    It flushes and finishes on its own when a row group or a file is full, and earlier when the budget says so.
    """

    def __init__(
        self,
        layout: FileLayout,
        budget: WriteBudget,
        new_file: Callable[[pa.Table], DataFileWriter],
        done: Callable[[DataFile], None],
    ) -> None:
        """Write to files from ``new_file``, which is given their first rows; each that is finished is handed to ``done``."""
        self.waiting_bytes = 0
        self._layout = layout
        self._budget = budget
        self._new_file = new_file
        self._done = done
        self._parts: list[pa.Table] = []
        self._rows = 0
        self._file: DataFileWriter | None = None

    def add(self, rows: pa.Table, size: int) -> None:
        """Take rows that are ``size`` bytes in memory."""
        self._parts.append(rows)
        self._rows += rows.num_rows
        self.waiting_bytes += size
        self._budget.hold(self, size)
        if self.waiting_bytes >= self._layout.row_group_bytes or self._rows >= self._layout.row_group_rows:
            self.flush()

    def flush(self) -> None:
        """Write the waiting rows; the file stays open unless it is full."""
        if not self._parts:
            return
        rows = pa.concat_tables(self._let_go())
        self._finish_unless_it_takes(rows)
        if self._file is None:
            self._budget.make_room()
            self._file = self._new_file(rows)
        self._budget.wrote(self)
        self._file.write(rows)
        if self._file.is_full:
            self.finish()

    def finish(self) -> None:
        """Close the open file, if there is one; rows may wait on."""
        self._budget.closed(self)
        if self._file is not None:
            file, self._file = self._file, None
            self._done(file.close())

    def close(self) -> None:
        """Write what waits and close the file. A file opened for that is closed at once and pushes out no other."""
        if self._parts:
            rows = pa.concat_tables(self._let_go())
            self._finish_unless_it_takes(rows)
            if self._file is None:
                self._file = self._new_file(rows)
            self._file.write(rows)
        self.finish()

    def _finish_unless_it_takes(self, rows: pa.Table) -> None:
        if self._file is not None and not self._file.takes(rows):
            self.finish()

    def abort(self) -> None:
        """Drop rows and file as they are."""
        self._let_go()
        self._budget.closed(self)
        if self._file is not None:
            file, self._file = self._file, None
            file.abort()

    def _let_go(self) -> list[pa.Table]:
        """Return the waiting rows, which are no longer counted."""
        self._budget.release(self, self.waiting_bytes)
        parts, self._parts = self._parts, []
        self.waiting_bytes = self._rows = 0
        return parts
