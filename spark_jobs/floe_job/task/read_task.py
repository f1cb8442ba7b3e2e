"""What one Spark task does: read pieces of ranges, route, make rows, write files, count everything."""

import logging
import os
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

import pyarrow as pa

from floe.config.secrets.mask import learn, learn_environment
from floe.exceptions import FloeError
from floe.model.accounting import RangeBooks
from floe.parquet.budget import WriteBudget
from floe_job.contract.letter import Letter, letters_of
from floe_job.contract.result import Failure, PieceResult, TaskResult
from floe_job.contract.task import Task
from floe_job.convert.registry import converters_of
from floe_job.dead_letters.collector import Letterbox
from floe_job.dead_letters.limits import INTOLERANT_ADVICE, UNROUTABLE_ADVICE, BadRecordCollector
from floe_job.exceptions import SchemaConflict
from floe_job.logs import start_logging
from floe_job.memory_tuning import rare_housekeeping
from floe_job.routing.router import Router
from floe_job.routing.rules import Routed
from floe_job.routing.shared_decode import DecodedTogether, Lookalikes
from floe_job.shuffle.distribution import is_spread
from floe_job.shuffle.messages import Outbox, Parcel, Seal
from floe_job.shuffle.partition_sender import RowSpool
from floe_job.source.piece import Piece
from floe_job.source.range_reader import RangeReader
from floe_job.source.record_batch import Records
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.chain import Chain
from floe_job.write.table_rows import TargetWriter

log = logging.getLogger(__name__)

MOST_GUESSED = 200
"""Tables that a task infers columns for before the driver has looked them up."""
Sent = Parcel | Seal | TaskResult
"""What a task that leaves files to others sends to each of them."""


def run_task(task: Task) -> TaskResult:
    """Run one task that writes its own files. Errors come back as a Failure, so that the driver can name them."""
    reading = _run(task)
    try:
        while True:
            next(reading)
    except StopIteration as end:
        result: TaskResult = end.value
        return result


def send_task(task: Task) -> Iterator[tuple[int, Sent]]:
    """Run one task that leaves the files of some tables to others: yield what is for which of them."""
    result = yield from _run(task)
    is_complete = result.is_complete and result.failure is None
    yield from ((writer, Seal(task.index, writer, is_complete)) for writer in range(task.writers))
    yield task.index % task.writers, result


def _run(task: Task) -> Generator[tuple[int, Parcel], None, TaskResult]:
    start_logging(sys.stderr, logging.WARNING)  # what a worker writes to its stdout is Spark's
    _learn_secrets(task)
    try:
        with rare_housekeeping():
            return (yield from _TaskRun(task).run())
    except FloeError as error:
        return TaskResult(task.index, failure=Failure.of(error))
    except Exception as error:  # Spark would bury it in a Java stack trace
        log.exception("task %s failed", task.index)
        return TaskResult(task.index, failure=Failure.of(error, [target.name for target in task.targets]))


def _learn_secrets(task: Task) -> None:
    learn_environment(os.environ)
    learn(task.conf)
    learn(task.letters.conf)
    learn(task.routes.value_converter.options)
    for target in task.targets:
        if target.io is not None:
            learn(target.io.properties)


class _TaskRun:
    def __init__(self, task: Task) -> None:
        self._task = task
        self._budget = WriteBudget()
        self._targets = {target.name: target for target in task.targets}
        self._writers: dict[str, TargetWriter] = {}
        self._given_up: set[str] = set()
        self._router = Router(task.routes, self._targets)
        self._letterbox = Letterbox(task.letters, task.index, self._budget)
        self._outbox = Outbox(task.index, task.writers) if task.writers else None
        self._chain = Chain.of(task.routes.transforms)
        self._converters = converters_of(task.routes.value_converter)
        self._lookalikes = Lookalikes.of(task.targets, task.routes)
        self._deliveries = 0
        self._bad = BadRecordCollector()
        self._judged = 0

    def run(self) -> Generator[tuple[int, Parcel], None, TaskResult]:
        """Read every piece to its end; write as long as no column and no table is missing.

        Yields rows that others write, each parcel with the number of the task that it is for.
        """
        results = []
        try:
            with closing(RangeReader(self._task.conf, self._task.limits)) as reader:
                for piece in self._task.pieces:
                    results.append((yield from self._read(reader, piece)))
            bad = self._bad.counts(self._judged)
            if bad:
                return TaskResult(self._task.index, tuple(results), bad=bad)
            complete = not self._router.unknown and not any(table.needs for table in self._writers.values())
            tables = {name: table.close(complete=complete) for name, table in self._writers.items()}
            letters = self._letterbox.close(complete=complete)
            if self._outbox is not None and complete:
                yield from self._outbox.take()
        finally:
            for table in self._writers.values():
                table.abort()
            self._letterbox.abort()
        return TaskResult(self._task.index, tuple(results), tables, letters, tuple(self._router.unknown), bad=bad)

    def _read(self, reader: RangeReader, piece: Piece) -> Generator[tuple[int, Parcel], None, PieceResult]:
        seen = 0
        first: int | None = None
        timestamp: int | None = None
        books = RangeBooks()
        before = self._deliveries
        for batch in reader.read(piece.offsets):
            records = Records(piece, batch.offsets.tolist(), batch.values, batch.messages)
            first = records.offsets[0] if first is None else first
            timestamp = records.messages[-1].timestamp()
            seen += len(records)
            books += self._take(records)
            if self._outbox is not None:
                yield from self._outbox.take()
            del batch, records  # their memory is free before the next batch is gathered
        books += RangeBooks(invisible=piece.end - piece.start - seen)
        return PieceResult(piece, books, first, timestamp, self._deliveries - before)

    def _take(self, records: Records) -> RangeBooks:
        """Hand the records that are no tombstones to their tables."""
        if not self._chain.is_columnar:
            return self._take_transformed(records)
        count = len(records)
        records = records.without_tombstones()
        tombstones = count - len(records)
        if not len(records):
            return RangeBooks(tombstones=tombstones)
        self._judged += len(records)
        decoded = self._lookalikes.decode(records) if self._lookalikes is not None else None
        if decoded is None:
            self._lookalikes = None
            return RangeBooks(tombstones=tombstones) + self._take_each(records)
        books = RangeBooks(tombstones=tombstones) + self._take_decoded(decoded)
        return books + self._take_each(decoded.rest) if len(decoded.rest) else books

    def _take_transformed(self, records: Records) -> RangeBooks:
        """Parse records, tombstones too, have them transformed, and hand what is left to the tables, some at a time."""
        concerned = self._router.concerned(records)
        books = RangeBooks(filtered=len(records) - len(concerned))
        for batch in self._chain.batches(concerned, self._converters):
            books += self._take_batch(batch)
        return books

    def _take_batch(self, batch: ParsedBatch) -> RangeBooks:
        tombstones = batch.tombstones
        self._judged += len(batch.source) - tombstones - batch.filtered
        books = RangeBooks(tombstones=tombstones, filtered_by_transforms=batch.filtered)
        if self._task.routes.judges:
            malformed, refused = batch.rejected_by_stage()
            self._bury(letters_of(batch.source, malformed, None))
            self._bury(letters_of(batch.source, refused, None), "are refused by a transform")
            books += RangeBooks(dead=len(batch.rejected))
        else:
            books += RangeBooks(filtered=len(batch.rejected))
        for mine in batch.by_topic():
            books += self._take_each(mine)
        return books

    def _take_each(self, records: Records) -> RangeBooks:
        """Route records, and have each table decode its own."""
        routed = self._router.route(records)
        dead, dropped = self._refuse(records, routed)
        for name, mine in routed.tables.items():
            self._hand_over(name, mine)
        return RangeBooks(routed=routed.reached, dead=dead, filtered=routed.filtered, dropped=dropped)

    def _take_decoded(self, decoded: DecodedTogether) -> RangeBooks:
        """Route records that have a row already, the same for every table."""
        records = decoded.records
        routed = self._router.spread(records, decoded.values)
        dead, dropped = self._refuse(records, routed)
        for name, places in routed.places.items():
            writer = self._writer(name) if name in self._targets else None
            if writer is None or not writer.is_plain(records.piece.range):
                self._hand_over(name, records if places is None else records.select(places.tolist()))
                continue
            rows = decoded.rows if places is None else decoded.rows.take(pa.array(places))
            self._deliveries += rows.num_rows
            writer.take_rows(rows, fast=decoded.fast)
        if routed.filtered > len(records) // 2:
            self._lookalikes = None  # most of what was decoded has no use
        return RangeBooks(routed=routed.reached, dead=dead, filtered=routed.filtered, dropped=dropped)

    def _hand_over(self, name: str, records: Records) -> None:
        self._deliveries += len(records)
        writer = self._writer(name)
        if writer is None:
            return
        if name in self._targets:
            # a run that takes no bad record fails of them, whether or not columns are missing
            self._bury(writer.take(records, for_good=not self._task.letters.policy.tolerate))
        else:
            self._guess(name, writer, records)

    def _writer(self, name: str) -> TargetWriter | None:
        """Return the writer of a table; None for one that the driver has to look up first."""
        if name in self._writers:
            return self._writers[name]
        if name in self._given_up:
            return None
        target = self._targets.get(name)
        if target is None:
            if self._task.guess is None or len(self._writers) >= len(self._targets) + MOST_GUESSED:
                return None
            target = replace(self._task.guess, name=name)
        spool = RowSpool(target, self._outbox, self._budget) if self._outbox is not None and is_spread(target) else None
        self._writers[name] = TargetWriter(target, self._task.index, self._budget, spool)
        return self._writers[name]

    def _guess(self, name: str, writer: TargetWriter, records: Records) -> None:
        """Gather what a table would need if it were new. Nothing is judged: it may exist, with columns of its own."""
        try:
            writer.take(records, for_good=False)
        except SchemaConflict:
            writer.abort()
            del self._writers[name]
            self._given_up.add(name)

    def _refuse(self, records: Records, routed: Routed) -> tuple[int, int]:
        """Bury the records that reach no table; return how many are dead and how many were let go."""
        malformed = letters_of(records, routed.malformed, None)
        self._bury(malformed)
        if not routed.unroutable:
            return len(malformed), 0
        match self._task.routes.routing.on_unroutable:
            case "drop":
                return len(malformed), len(routed.unroutable)
            case "dead-letter":
                letters = letters_of(records, routed.unroutable, None)
                self._letterbox.take(letters)
                return len(malformed) + len(letters), 0
            case _:
                letters = letters_of(records, routed.unroutable, None)
                self._bad.take(letters, "have no table", UNROUTABLE_ADVICE)
                return len(malformed) + len(letters), 0

    def _bury(self, letters: Sequence[Letter], problem: str = "are no JSON objects") -> None:
        """Put letters into the letterbox, or count them where bad records are not tolerated: the task fails at its end.

        ``problem``: what is said of letters that were meant for no table yet.
        """
        if not letters:
            return
        if not self._task.letters.policy.tolerate:
            table = letters[0].table
            what = f"cannot become rows of table {table!r}" if table is not None else problem
            self._bad.take(letters, what, INTOLERANT_ADVICE)
            return
        self._letterbox.take(letters)


def run_tasks(tasks: Iterator[Task]) -> Iterator[TaskResult]:
    """Run the tasks of one Spark partition."""
    return (run_task(task) for task in tasks)


def send_tasks(tasks: Iterable[Task]) -> Iterator[tuple[int, Sent]]:
    """Run the tasks of one Spark partition and yield what they send, with the number of the partition that gets it."""
    for task in tasks:
        yield from send_task(task)
