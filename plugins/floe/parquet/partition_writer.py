"""The rows that wait and the file that is open for one partition of one table."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyiceberg.manifest import DataFile

from floe.parquet.budget import WriteBudget
from floe.parquet.data_file import DataFileWriter
from floe.parquet.layout import FileLayout


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
