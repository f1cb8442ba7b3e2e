"""What one Spark task does: read range parts, route records, make rows, write files, count everything."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from floe.config.secrets.mask import learn, learn_environment
from floe.exceptions import FloeError
from floe.model.accounting import RangeCounts
from floe.parquet.budget import WriteBudget
from floe_job.contract.dead_letter import DeadLetter, dead_letters_of
from floe_job.contract.result import Failure, RangePartResult, TaskResult
from floe_job.contract.task import Task
from floe_job.convert.context import ConverterContext, LookupRecorder
from floe_job.convert.header_framing import framing_of
from floe_job.convert.makers import converters_of
from floe_job.dead_letters.collector import DeadLetterCollector
from floe_job.dead_letters.limits import INTOLERANT_ADVICE, UNROUTABLE_ADVICE, BadRecordCollector
from floe_job.exceptions import SchemaConflict
from floe_job.logs import start_logging
from floe_job.memory_tuning import tuned_memory
from floe_job.routing.destinations import Routed
from floe_job.routing.key_texts import key_texts
from floe_job.routing.router import Router
from floe_job.routing.shared_decode import DecodedTogether, SharedDecoder
from floe_job.shuffle.messages import EndOfTask, RowBlock, SendQueue
from floe_job.shuffle.partition_sender import PartitionSender, is_spread
from floe_job.source.range_reader import RangeReader
from floe_job.source.record_batch import RangePart, Records
from floe_job.transform.chain import Chain
from floe_job.write.table_rows import TableRows

if TYPE_CHECKING:
    from floe_job.transform.batch import ParsedBatch, Readers


log = logging.getLogger(__name__)

MAX_ASSUMED_TABLES = 200
"""Tables that a task infers columns for before the driver has looked them up."""
SentRows = RowBlock | EndOfTask | TaskResult
"""What a task that leaves files to others sends to each of them."""


def run_task(task: Task) -> TaskResult:
    """Run one task that writes its own files. Errors are returned as a Failure, so that the driver can report them."""
    reading = _run(task)
    try:
        while True:
            next(reading)
    except StopIteration as end:
        result: TaskResult = end.value
        return result


def send_task(task: Task) -> Iterator[tuple[int, SentRows]]:
    """Run one task that leaves the files of some tables to others: yield what it sends, with the number of the receiver."""
    result = yield from _run(task)
    is_complete = result.is_complete and result.failure is None
    yield from ((writer, EndOfTask(task.index, writer, is_complete)) for writer in range(task.writers))
    yield task.index % task.writers, result


def _run(task: Task) -> Generator[tuple[int, RowBlock], None, TaskResult]:
    start_logging(sys.stderr, logging.WARNING)  # Spark uses a worker's stdout
    learn_environment(os.environ)
    for settings in task.secrets:
        learn(settings)
    try:
        with tuned_memory():
            return (yield from _TaskRun(task).run())
    except FloeError as error:
        return TaskResult(task.index, failure=Failure.of(error))
    except Exception as error:  # Spark would hide it in a Java stack trace
        log.exception("task %s failed", task.index)
        return TaskResult(task.index, failure=Failure.of(error, [target.name for target in task.targets]))


class _TaskRun:
    def __init__(self, task: Task) -> None:
        self._task = task
        self._budget = WriteBudget()
        self._targets = {target.name: target for target in task.targets}
        self._writers: dict[str, TableRows] = {}
        self._given_up: set[str] = set()
        self._lookups = LookupRecorder()
        context = ConverterContext.of_attempt(task.attempt, self._lookups)
        self._converters = converters_of(task.routes.value_converter, context)
        self._framed = framing_of(task.routes.value_converter, context)
        self._key_lookups = LookupRecorder()
        keys = key_texts(task.routes, ConverterContext.of_attempt(task.attempt, self._key_lookups))
        self._router = Router(task.routes, self._targets, self._converters, keys)
        self._collector = DeadLetterCollector(task.dead_letters, task.index, self._budget)
        self._send_queue = SendQueue(task.index, task.writers) if task.writers else None
        self._chain = Chain.of_task(task.routes)
        self._shared_decoder = SharedDecoder.of(task.targets, task.routes, self._converters)
        self._deliveries = 0
        self._rejects = Rejects(task, self._collector)
        self._checked = 0

    @cached_property
    def _readers(self) -> Readers:
        """What reads values and keys for transforms. Raises RegistryMisconfigured."""
        from floe_job.transform.batch import Readers  # not above: most tasks have no transforms

        return Readers.of(self._task, self._converters, self._key_lookups)

    def run(self) -> Generator[tuple[int, RowBlock], None, TaskResult]:
        """Read every range part to its end; write as long as no column and no table is missing.

        Yields rows that others write, each block with the number of the task that it is for.
        """
        results = []
        try:
            with closing(RangeReader.open(self._task.conf, self._task.limits)) as reader:
                for part in self._task.range_parts:
                    results.append((yield from self._read(reader, part)))
            bad = self._rejects.bad.counts(self._checked)
            if bad:
                return self._result(results, bad=bad)
            complete = not self._router.unknown and not any(table.needs for table in self._writers.values())
            tables = {name: table.close(complete=complete) for name, table in self._writers.items()}
            dead_letters = self._collector.close(complete=complete)
            if self._send_queue is not None and complete:
                yield from self._send_queue.take()
        finally:
            for table in self._writers.values():
                table.abort()
            self._collector.abort()
        return self._result(results, tables=tables, dead_letters=dead_letters, unknown=tuple(self._router.unknown))

    def _result(self, range_parts: Sequence[RangePartResult], **found: Any) -> TaskResult:
        schemas, key_schemas = self._lookups.lookups(), self._key_lookups.lookups()
        return TaskResult(self._task.index, tuple(range_parts), schemas=schemas, key_schemas=key_schemas, **found)

    def _read(self, reader: RangeReader, part: RangePart) -> Generator[tuple[int, RowBlock], None, RangePartResult]:
        seen = size = 0
        first: int | None = None
        timestamp: int | None = None
        counts = RangeCounts()
        before = self._deliveries
        for batch in reader.read(part.offsets, part.epoch):
            records = self._framed(Records(part, batch.offsets.tolist(), batch.values, batch.messages))
            first = records.offsets[0] if first is None else first
            timestamp = records.messages[-1].timestamp()
            seen += len(records)
            size += batch.nbytes
            counts += self._take(records)
            if self._send_queue is not None:
                yield from self._send_queue.take()
            del batch, records  # their memory is free before the next batch is gathered
        counts += RangeCounts(invisible=part.end - part.start - seen)
        return RangePartResult(part, counts, first, timestamp, self._deliveries - before, size)

    def _take(self, records: Records) -> RangeCounts:
        """Pass the records that are no tombstones to their tables."""
        if not self._chain.is_columnar:
            return self._take_transformed(records)
        counts, records = self._take_tombstones(records)
        if not len(records):
            return counts
        self._checked += len(records)
        decoded = self._shared_decoder.decode(records) if self._shared_decoder is not None else None
        if decoded is None:
            self._shared_decoder = None
            return counts + self._take_each(records)
        counts += self._take_decoded(decoded)
        return counts + self._take_each(decoded.rest) if len(decoded.rest) else counts

    def _take_tombstones(self, records: Records) -> tuple[RangeCounts, Records]:
        """Count the records without a value, and return the others; a transform of fields may refuse some of the first."""
        present = records.without_tombstones()
        count = len(records) - len(present)
        if not count or not self._chain.refuses_tombstones:
            return RangeCounts(tombstones=count), present
        none = self._router.relevant(records.tombstones())
        from floe_job.transform.batch import ParsedBatch

        batch = self._chain.without_refused(ParsedBatch.unread(none, self._readers))
        return RangeCounts(tombstones=count - len(none)) + self._take_batch(batch), present

    def _take_transformed(self, records: Records) -> RangeCounts:
        """Parse and transform records, tombstones too, and pass what is left to the tables, some at a time."""
        relevant = self._router.relevant(records)
        counts = RangeCounts(filtered=len(records) - len(relevant))
        for batch in self._chain.batches(relevant, self._readers):
            counts += self._take_batch(batch)
        return counts

    def _take_batch(self, batch: ParsedBatch) -> RangeCounts:
        tombstones = batch.tombstones
        self._checked += len(batch.source) - tombstones - batch.filtered
        counts = RangeCounts(tombstones=tombstones, filtered_by_transforms=batch.filtered)
        if self._task.routes.rejects_records:
            malformed, refused = batch.rejected_by_stage()
            self._rejects.send(dead_letters_of(batch.source, malformed, None))
            self._rejects.send(dead_letters_of(batch.source, refused, None), "are refused by a transform")
            counts += RangeCounts(dead=len(batch.rejected))
        else:
            counts += RangeCounts(filtered=len(batch.rejected))
        for table_records in batch.by_topic():
            counts += self._take_each(table_records)
        return counts

    def _take_each(self, records: Records) -> RangeCounts:
        """Route records, and let each table decode its own."""
        routed = self._router.route(records)
        dead, dropped = self._rejects.unrouted(records, routed)
        for name, table_records in routed.tables.items():
            self._hand_over(name, table_records)
        return RangeCounts(routed=routed.reached, dead=dead, filtered=routed.filtered, dropped=dropped)

    def _take_decoded(self, decoded: DecodedTogether) -> RangeCounts:
        """Route records that have a row already, the same for every table."""
        records = decoded.records
        routed = self._router.spread(records, decoded.values)
        dead, dropped = self._rejects.unrouted(records, routed)
        for name, places in routed.places.items():
            writer = self._writer(name) if name in self._targets else None
            if writer is None or not writer.is_plain(records.part.range):
                self._hand_over(name, records if places is None else records.select(places.tolist()))
                continue
            rows = decoded.rows if places is None else decoded.rows.take(pa.array(places))
            self._deliveries += rows.num_rows
            writer.take_rows(rows, fast=decoded.fast)
        if routed.filtered > len(records) // 2:
            self._shared_decoder = None  # most of what was decoded is not used
        return RangeCounts(routed=routed.reached, dead=dead, filtered=routed.filtered, dropped=dropped)

    def _hand_over(self, name: str, records: Records) -> None:
        self._deliveries += len(records)
        writer = self._writer(name)
        if writer is None:
            return
        if name in self._targets:
            # a run that does not tolerate bad records fails because of them, whether or not columns are missing
            self._rejects.send(writer.take(records, is_final=not self._task.dead_letters.policy.tolerate))
        else:
            self._collect_changes(name, writer, records)

    def _writer(self, name: str) -> TableRows | None:
        """Return the writer of a table; None for one that the driver has to look up first."""
        if name in self._writers:
            return self._writers[name]
        if name in self._given_up:
            return None
        target = self._targets.get(name)
        if target is None:
            if self._task.assumed_target is None or len(self._writers) >= len(self._targets) + MAX_ASSUMED_TABLES:
                return None
            target = replace(self._task.assumed_target, name=name)
        sender = (
            PartitionSender(target, self._send_queue, self._budget)
            if self._send_queue is not None and is_spread(target)
            else None
        )
        self._writers[name] = TableRows(
            target, self._task.index, self._converters, self._budget, sender, chain=self._chain
        )
        return self._writers[name]

    def _collect_changes(self, name: str, writer: TableRows, records: Records) -> None:
        """Collect what a table would need if it were new. Nothing is rejected: the table may exist, with other columns."""
        try:
            writer.take(records, is_final=False)
        except SchemaConflict:
            writer.abort()
            del self._writers[name]
            self._given_up.add(name)


def run_tasks(tasks: Iterator[Task]) -> Iterator[TaskResult]:
    """Run the tasks of one Spark partition."""
    return (run_task(task) for task in tasks)


def send_tasks(tasks: Iterable[Task]) -> Iterator[tuple[int, SentRows]]:
    """Run the tasks of one Spark partition and yield what they send, with the number of the partition that gets it."""
    for task in tasks:
        yield from send_task(task)


# Records that a task rejects: they become dead letters, or the task fails because of them.


class Rejects:
    """Passes dead letters on. ``bad``: those because of which the task fails at its end."""

    def __init__(self, task: Task, collector: DeadLetterCollector) -> None:
        self._task = task
        self._collector = collector
        self.bad = BadRecordCollector()

    def unrouted(self, records: Records, routed: Routed) -> tuple[int, int]:
        """Make dead letters of the records that reach no table; return how many are dead and how many were dropped."""
        malformed = dead_letters_of(records, routed.malformed, None)
        self.send(malformed)
        if not routed.unroutable:
            return len(malformed), 0
        match self._task.routes.routing.on_unroutable:
            case "drop":
                return len(malformed), len(routed.unroutable)
            case "dead-letter":
                dead_letters = dead_letters_of(records, routed.unroutable, None)
                self._collector.take(dead_letters)
                return len(malformed) + len(dead_letters), 0
            case _:
                dead_letters = dead_letters_of(records, routed.unroutable, None)
                self.bad.take(dead_letters, "have no table", UNROUTABLE_ADVICE)
                return len(malformed) + len(dead_letters), 0

    def send(self, dead_letters: Sequence[DeadLetter], problem: str = "cannot be read") -> None:
        """Collect dead letters, or count them where bad records are not tolerated: then the task fails at its end.

        ``problem``: the description of dead letters that were refused before routing.
        """
        if not dead_letters:
            return
        if not self._task.dead_letters.policy.tolerate:
            table = dead_letters[0].table
            what = f"cannot become rows of table {table!r}" if table is not None else problem
            self.bad.take(dead_letters, what, INTOLERANT_ADVICE)
            return
        self._collector.take(dead_letters)
