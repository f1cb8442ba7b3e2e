"""The data files of one task for one table, opened with the first rows."""

import errno
import os
from typing import Protocol

import pyarrow as pa
from pyiceberg.io.pyarrow import BUFFER_SIZE

from floe.control.data_files import SpecFiles, from_pyiceberg, partition_type_of
from floe.crash_points import CrashPoint, reach
from floe.parquet.budget import WriteBudget
from floe.parquet.table_writer import TableWriter
from floe_job.contract.task import TableTarget
from floe_job.exceptions import WriteFailed


class RowSink(Protocol):
    """Takes rows in the Arrow schema of the table's schema."""

    def write(self, rows: pa.Table) -> None:
        """Take rows. Raises WriteFailed."""

    def close(self) -> tuple[SpecFiles | None, int]:
        """Finish; return the files that were written here, with their rows. Raises WriteFailed."""

    def abort(self) -> None:
        """Drop what is not closed yet."""


STREAM_BYTES = 128 * 1024
"""Bytes that an open file buffers before it writes to the store. PyIceberg's 1 MiB is too much with a hundred open files."""


class TargetFiles:
    """Takes rows in the Arrow schema of the table's schema; files are opened with the first rows."""

    def __init__(self, target: TableTarget, task_index: int, budget: WriteBudget | None = None) -> None:
        self._target = target
        self._task_index = task_index
        self._budget = budget
        self._writer: TableWriter | None = None

    def write(self, rows: pa.Table) -> None:
        """Write rows. Raises WriteFailed."""
        try:
            if self._writer is None:
                self._writer = self._open()
            self._writer.write(rows)
        except OSError as error:
            raise WriteFailed(self._message(error)) from error

    def finish_files(self) -> None:
        """Finish the open files: their partitions get no further rows. Raises WriteFailed."""
        try:
            if self._writer is not None:
                self._writer.finish_files()
        except OSError as error:
            raise WriteFailed(self._message(error)) from error

    def close(self) -> tuple[SpecFiles | None, int]:
        """Close the files; return them with their rows, counted from their footers. Raises WriteFailed."""
        if self._writer is None:
            return None, 0
        metadata = self._target.metadata
        assert metadata is not None  # noqa: S101 - a writer was opened from it
        reach(CrashPoint.WRITE_FILES)
        try:
            files = self._writer.close()
        except OSError as error:
            raise WriteFailed(self._message(error)) from error
        reach(CrashPoint.WRITE_FILES_CLOSED)
        self._writer = None
        spec = metadata.spec()
        partition_type = partition_type_of(spec, metadata.schema())
        events = tuple(from_pyiceberg(file, partition_type, spec.spec_id) for file in files)
        return SpecFiles(spec.spec_id, partition_type, events), sum(file.record_count for file in files)

    def abort(self) -> None:
        """Drop what is not closed yet; files that were written remain as orphans."""
        if self._writer is not None:
            self._writer.abort()
            self._writer = None

    def _open(self) -> TableWriter:
        target = self._target
        if target.metadata is None or target.io is None:
            msg = f"table {target.name!r} has rows but no metadata"
            raise AssertionError(msg)
        target.io.properties.setdefault(BUFFER_SIZE, str(STREAM_BYTES))
        return TableWriter(
            metadata=target.metadata,
            io=target.io,
            schema=target.metadata.schema(),
            spec=target.metadata.spec(),
            properties=dict(target.properties),
            name_hint=f"{self._task_index:05d}",
            budget=self._budget,
        )

    def _message(self, error: OSError) -> str:
        where = self._target.metadata.location if self._target.metadata is not None else self._target.name
        no_room = os.strerror(errno.ENOSPC)
        is_full = error.errno == errno.ENOSPC or no_room in str(error)
        reason = f"{no_room}: the disk is full" if is_full else str(error)
        advice = "Make room there" if is_full else "Check that Spark's workers may write there and that there is room"
        return (
            f"data files of table {self._target.name!r} could not be written below {where!r}: {reason}. Nothing was "
            f"announced. {advice}; the next try reads the same records."
        )
