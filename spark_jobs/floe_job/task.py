"""What one Spark task does: read pieces of ranges, make rows of them, write files, count everything."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from floe.exceptions import FloeError, Terminal
from floe.offsets.books import RangeBooks
from floe_job.read import Batch, RangeReader
from floe_job.target import Piece, TableResult, Target
from floe_job.target_writer import TargetWriter

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Task:
    """The description of one Spark task. ``conf`` is the consumer's and may hold secrets."""

    index: int
    pieces: tuple[Piece, ...]
    targets: tuple[Target, ...]
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
    """What one task did: its pieces, and each table by name. When a table lacks columns, nothing was written for any."""

    index: int
    pieces: tuple[PieceResult, ...] = ()
    tables: Mapping[str, TableResult] = field(default_factory=dict)
    failure: Failure | None = None

    @property
    def lacks_columns(self) -> bool:
        return any(table.needs for table in self.tables.values())


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
            f"writing for {', '.join(repr(t.name) for t in task.targets)} failed: {type(error).__name__}: {text}. Nothing "
            "was announced. If it comes again, check the tables' properties and iceberg.tables.write-props.*; Spark's log "
            "has the whole error"
        )
        return TaskResult(task.index, failure=Failure(msg, retryable=True))


class _TaskRun:
    def __init__(self, task: Task) -> None:
        self._task = task
        self._tables = [TargetWriter(target, task.index) for target in task.targets]

    def run(self) -> TaskResult:
        """Read every piece to its end; write as long as no column is missing."""
        results = []
        try:
            with closing(RangeReader(self._task.conf)) as reader:
                for piece in self._task.pieces:
                    results.append(self._read(reader, piece))
            complete = not any(table.needs for table in self._tables)
            tables = {table.name: table.close(complete=complete) for table in self._tables}
        finally:
            for table in self._tables:
                table.abort()
        return TaskResult(self._task.index, tuple(results), tables)

    def _read(self, reader: RangeReader, piece: Piece) -> PieceResult:
        seen = tombstones = 0
        first: int | None = None
        timestamp: int | None = None
        for batch in reader.read(piece.offsets):
            first = batch.offsets[0] if first is None else first
            timestamp = batch.timestamp
            seen += len(batch.offsets)
            tombstones += batch.values.count(None)
            self._take(piece, batch)
        length = piece.end - piece.start
        books = RangeBooks(routed=seen - tombstones, tombstones=tombstones, invisible=length - seen)
        return PieceResult(piece, books, first, timestamp)

    def _take(self, piece: Piece, batch: Batch) -> None:
        """Hand the records that are no tombstones to every table."""
        offsets, values = batch.offsets, batch.values
        if None in values:
            kept = [i for i, value in enumerate(values) if value is not None]
            offsets, values = [offsets[i] for i in kept], [values[i] for i in kept]
        for table in self._tables:
            table.take(piece, offsets, values)  # type: ignore[arg-type]


def run_tasks(tasks: Iterator[Task]) -> Iterator[TaskResult]:
    """Run the tasks of one Spark partition."""
    return (run_task(task) for task in tasks)
