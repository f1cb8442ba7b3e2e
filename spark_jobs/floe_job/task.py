"""What one Spark task does: read pieces of ranges, make rows of them, write files, count everything."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.io import FileIO
from pyiceberg.table.metadata import TableMetadata

from floe.control.announcement import SpecFiles
from floe.control.data_files import from_pyiceberg, partition_type_of
from floe.crash import CrashPoint, reach
from floe.exceptions import FloeError, Terminal
from floe.offsets.books import RangeBooks, TableBooks
from floe.offsets.intervals import Intervals
from floe.offsets.ranges import OffsetRange
from floe_job.decode import Decoded, JsonDecoder, Rejected
from floe_job.exceptions import BadRecords, WriteFailed
from floe_job.needs import SchemaNeeds
from floe_job.parquet import TableWriter
from floe_job.read import Batch, RangeReader

log = logging.getLogger(__name__)

NAMED_BAD_RECORDS = 5


@dataclass(frozen=True)
class Target:
    """A table as a worker sees it; ``metadata`` and ``io`` are None while it does not exist.

    ``properties``: the table's own with the connector's write-props over them. ``held``: per range, the offsets that
    the table holds already; ranges of which it holds none are left out.
    """

    name: str
    metadata: TableMetadata | None
    io: FileIO | None = field(repr=False)
    properties: Mapping[str, str] = field(repr=False)
    held: Mapping[OffsetRange, Intervals]
    evolve: bool


@dataclass(frozen=True)
class Piece:
    """Part of a range that one task reads."""

    range: OffsetRange
    start: int
    end: int

    @property
    def offsets(self) -> OffsetRange:
        return OffsetRange(self.range.topic, self.range.topic_id, self.range.partition, self.start, self.end)


@dataclass(frozen=True)
class Task:
    """The description of one Spark task. ``conf`` is the consumer's and may hold secrets."""

    index: int
    pieces: tuple[Piece, ...]
    target: Target
    conf: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class PieceResult:
    """One piece, read: its books, the first offset seen, the time of the last record (epoch ms)."""

    piece: Piece
    books: RangeBooks
    first_offset: int | None
    timestamp: int | None


@dataclass(frozen=True)
class Failure:
    """An error that floe raised in a worker, to be raised again in the driver."""

    message: str
    retryable: bool


@dataclass(frozen=True)
class TaskResult:
    """What one task found and wrote. With ``needs`` it wrote nothing and wants to run again."""

    index: int
    pieces: tuple[PieceResult, ...] = ()
    table: TableBooks = field(default_factory=TableBooks)
    files: SpecFiles | None = None
    needs: SchemaNeeds | None = None
    failure: Failure | None = None


def run_task(task: Task) -> TaskResult:
    """Run one task. Errors that floe raises come back as a Failure, so that the driver can name them."""
    try:
        return _TaskRun(task).run()
    except FloeError as error:
        return TaskResult(task.index, failure=Failure(str(error), retryable=not isinstance(error, Terminal)))
    except Exception as error:  # Spark would bury it in a Java stack trace
        log.exception("task %s failed", task.index)
        text = next(iter(str(error).splitlines()), "")[:300]
        msg = (
            f"writing for table {task.target.name!r} failed: {type(error).__name__}: {text}. Nothing was announced. If it "
            "comes again, check the table's properties and iceberg.tables.write-props.*; Spark's log has the whole error"
        )
        return TaskResult(task.index, failure=Failure(msg, retryable=True))


class _TaskRun:
    def __init__(self, task: Task) -> None:
        self._task = task
        target = task.target
        schema = target.metadata.schema() if target.metadata is not None else None
        self._decoder = JsonDecoder(schema, evolve=target.evolve, create=target.metadata is None)
        self._writer: TableWriter | None = None
        self._assigned = self._held = 0

    def run(self) -> TaskResult:
        """Read every piece to its end; write as long as no column is missing."""
        results = []
        try:
            with closing(RangeReader(self._task.conf)) as reader:
                for piece in self._task.pieces:
                    results.append(self._read(reader, piece))
            needs = self._decoder.needs
            if needs:
                return TaskResult(self._task.index, tuple(results), needs=needs)
            files, rows = self._close()
        except OSError as error:
            raise WriteFailed(_write_message(self._task.target, error)) from error
        finally:
            if self._writer is not None:
                self._writer.abort()
        books = TableBooks(assigned=self._assigned, rows=rows, held=self._held)
        return TaskResult(self._task.index, tuple(results), books, files)

    def _read(self, reader: RangeReader, piece: Piece) -> PieceResult:
        held = self._task.target.held.get(piece.range, Intervals())
        seen = tombstones = 0
        first: int | None = None
        timestamp: int | None = None
        for batch in reader.read(piece.offsets):
            first = batch.offsets[0] if first is None else first
            timestamp = batch.timestamp
            seen += len(batch.offsets)
            tombstones += batch.values.count(None)
            self._take(piece, batch, held)
        length = piece.end - piece.start
        books = RangeBooks(routed=seen - tombstones, tombstones=tombstones, invisible=length - seen)
        return PieceResult(piece, books, first, timestamp)

    def _take(self, piece: Piece, batch: Batch, held: Intervals) -> None:
        """Make rows of the records that the table does not hold yet."""
        offsets, values = batch.offsets, batch.values
        if None in values:
            kept = [i for i, value in enumerate(values) if value is not None]
            offsets, values = [offsets[i] for i in kept], [values[i] for i in kept]
        self._assigned += len(values)
        if held:
            kept = [i for i, offset in enumerate(offsets) if not held.has(offset)]
            self._held += len(values) - len(kept)
            offsets, values = [offsets[i] for i in kept], [values[i] for i in kept]
        if not values:
            return
        decoded = self._decoder.decode(values)  # type: ignore[arg-type]
        if decoded.rejected:
            raise BadRecords(_bad_records(piece, offsets, decoded.rejected, len(values)))
        self._write(decoded)

    def _write(self, decoded: Decoded) -> None:
        """Write rows, until a column turns out to be missing: then the task only reads on."""
        if self._decoder.needs:
            if self._writer is not None:
                self._writer.abort()
                self._writer = None
            return
        if decoded.table is not None and decoded.table.num_rows:
            if self._writer is None:
                self._writer = self._open()
            self._writer.write(decoded.table)

    def _open(self) -> TableWriter:
        target = self._task.target
        if target.metadata is None or target.io is None:
            msg = f"table {target.name!r} has rows but no metadata"
            raise AssertionError(msg)
        return TableWriter(
            metadata=target.metadata,
            io=target.io,
            schema=target.metadata.schema(),
            spec=target.metadata.spec(),
            properties=dict(target.properties),
            name_hint=f"{self._task.index:05d}",
        )

    def _close(self) -> tuple[SpecFiles | None, int]:
        """Close the files; rows are counted from their footers."""
        if self._writer is None:
            return None, 0
        metadata = self._task.target.metadata
        assert metadata is not None  # noqa: S101 - a writer was opened from it
        reach(CrashPoint.WRITE_FILES)
        files = self._writer.close()
        reach(CrashPoint.WRITE_FILES_CLOSED)
        self._writer = None
        spec = metadata.spec()
        partition_type = partition_type_of(spec, metadata.schema())
        events = tuple(from_pyiceberg(file, partition_type, spec.spec_id) for file in files)
        return SpecFiles(spec.spec_id, partition_type, events), sum(file.record_count for file in files)


def _bad_records(piece: Piece, offsets: list[int], rejected: tuple[Rejected, ...], count: int) -> str:
    tp = piece.range.tp
    named = "; ".join(
        f"topic {tp.topic!r} partition {tp.partition} offset {offsets[r.index]}: {r.reason}"
        for r in rejected[:NAMED_BAD_RECORDS]
    )
    more = f" (the first {NAMED_BAD_RECORDS} are named)" if len(rejected) > NAMED_BAD_RECORDS else ""
    return (
        f"{len(rejected)} of the {count} records just read cannot become rows{more}: {named}. Nothing was announced and "
        "the position stays. Mend the table or the producer's next records; how to step over one that cannot be mended "
        "stands in docs/how-it-works.md."
    )


def _write_message(target: Target, error: OSError) -> str:
    where = target.metadata.location if target.metadata is not None else target.name
    return (
        f"data files of table {target.name!r} could not be written below {where!r}: {error}. Check that Spark's workers "
        "may write there and that there is room; nothing was announced."
    )


def run_tasks(tasks: Iterator[Task]) -> Iterator[TaskResult]:
    """Run the tasks of one Spark partition."""
    return (run_task(task) for task in tasks)
