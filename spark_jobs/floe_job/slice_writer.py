"""The driver's part: hand out a slice's tasks, settle columns, balance the books, announce once."""

import logging
from collections.abc import Callable, Mapping, Sequence

from floe.catalogs.catalog import Tables
from floe.commit.refusals import REFUSALS
from floe.config import Connector
from floe.control.announcement import Announcement, TableShare, encode_announcement, next_offset
from floe.control.events import TopicPartitionOffset
from floe.crash import CrashPoint, reach
from floe.kafka.cluster import Cluster
from floe.kafka.settings import KafkaSettings
from floe.kafka.transaction import TransactionalProducer
from floe.offsets.books import RangeBooks, TableBooks, balance_range, balance_tables
from floe.offsets.plan import Plan, Slice, SliceKind
from floe.offsets.ranges import OffsetRange
from floe.offsets.routing import route_hash
from floe_job.divide import divide
from floe_job.exceptions import BadRecords, RangeLost, SliceFailed, SliceRefused
from floe_job.needs import SchemaNeeds
from floe_job.slice_table import SliceTable, load_tables, refuse_if_none_is_left
from floe_job.task import Failure, PieceResult, Task, TaskResult

log = logging.getLogger(__name__)

RunTasks = Callable[[Sequence[Task]], list[TaskResult]]

MOST_ROUNDS = 5
"""Times that tasks run again because a column was missing; more means that somebody else keeps changing the table."""


class SliceWriter:
    """Writes one slice of a plan for the connector's tables."""

    def __init__(self, plan: Plan, piece: Slice, connector: Connector, settings: KafkaSettings) -> None:
        self._plan = plan
        self._slice = piece
        self._connector = connector
        self._settings = settings
        self._tables = Tables.of(connector)
        self._routes = {t: route_hash(t, connector.commit_branch) for t in connector.topics}

    def write(self, run_tasks: RunTasks) -> Announcement:
        """Read the slice, write its files and announce them. Raises before anything is announced, or not at all."""
        log.info(
            "slice %s (%s): %s ranges, %s offsets, for %s",
            self._plan.slice_id(self._slice),
            self._slice.kind,
            len(self._slice.ranges),
            self._slice.records,
            ", ".join(self._slice.tables),
        )
        tables = load_tables(self._tables, self._plan, self._slice, self._connector)
        groups = divide(self._slice.ranges, self._connector.tasks_max)
        results: dict[int, TaskResult] = {}
        todo = list(range(len(groups)))
        for _ in range(MOST_ROUNDS):
            targets = tuple(table.target(self._slice, self._connector) for table in tables)
            done = run_tasks([Task(i, groups[i], targets, self._settings.reader()) for i in todo])
            _raise_failures(done)
            results |= {result.index: result for result in done}
            needs = _merged_needs(done)
            if not needs:
                announcement = self._announcement(tables, [results[i] for i in sorted(results)])
                self._announce(announcement)
                return announcement
            reach(CrashPoint.WRITE_SCHEMA)
            grown = [self._grown(table, needs[table.name]) if table.name in needs else table for table in tables]
            reach(CrashPoint.WRITE_SCHEMA_CHANGED)
            refuse_if_none_is_left(grown)
            # a table that is new, or that has just refused, concerns every task; columns concern those that lack them
            changed = [(old, new) for old, new in zip(tables, grown, strict=True) if old is not new]
            if all(old.table is not None and new.table is not None for old, new in changed):
                todo = [result.index for result in done if result.lacks_columns]
            else:
                todo = list(range(len(groups)))
            tables = grown
        msg = (
            f"the tables {sorted(needs)} still lack columns after {MOST_ROUNDS} rounds: somebody else keeps changing them; "
            "nothing was announced, run again"
        )
        raise SliceFailed(msg)

    def _grown(self, table: SliceTable, needs: SchemaNeeds) -> SliceTable:
        """Give a table what it lacks; one that does not take it refuses, and will owe its rows."""
        try:
            return table.grown(self._tables, needs)
        except REFUSALS as error:
            if self._slice.kind.is_replay:
                raise
            log.error("table %s takes nothing and will owe these rows: %s", table.name, error)
            return SliceTable(table.name, None, (), error)

    # -- the announcement ---------------------------------------------------------------------------------------------

    def _announcement(self, tables: Sequence[SliceTable], results: Sequence[TaskResult]) -> Announcement:
        """Check what was read, balance the books and put the announcement together."""
        pieces: dict[OffsetRange, list[PieceResult]] = {r: [] for r in self._slice.ranges}
        for read in (piece for result in results for piece in result.pieces):
            pieces[read.piece.range].append(read)
        self._refuse_changed_topics(pieces)
        books = tuple((r, sum((p.books for p in read), RangeBooks())) for r, read in pieces.items())
        table_books = {
            table.name: sum((result.tables[table.name].books for result in results), TableBooks()) for table in tables
        }
        shares = self._shares(tables, results, table_books)
        for r, range_books in books:
            balance_range(r, range_books)
        balance_tables([b for _, b in books], table_books)
        return Announcement(
            slice_id=self._plan.slice_id(self._slice),
            commit_id=self._plan.commit_id,
            kind=self._slice.kind.value,
            ranges=self._slice.ranges,
            shares=shares,
            tables=table_books,
            books=books,
            assignments=self._assignments(pieces),
            refused={table.name: str(table.refusal) for table in tables if table.refusal is not None},
            lost=self._lost(),
        )

    def _shares(
        self, tables: Sequence[SliceTable], results: Sequence[TaskResult], books: Mapping[str, TableBooks]
    ) -> tuple[TableShare, ...]:
        shares = []
        for table in tables:
            mine = books[table.name]
            if table.table is None and table.refusal is None and mine.assigned > mine.owed:
                msg = (
                    f"table {table.name!r} cannot be created: none of the {mine.assigned} records has a field with a "
                    "value. Nothing was announced; create the table yourself, or wait for records with fields."
                )
                raise BadRecords(msg)
            written = [files for result in results if (files := result.tables[table.name].files) and files.files]
            share = table.share(self._connector, written, self._routes, mine)
            if share is not None:
                shares.append(share)
        return tuple(shares)

    def _lost(self) -> tuple[OffsetRange, ...]:
        """Return the ranges accepted as lost, below the ranges of a live slice, that no snapshot tells of yet."""
        if self._slice.kind is not SliceKind.LIVE:
            return ()
        lost = {p.tp: p.facts.lost for p in self._plan.positions if '"lost"' in p.metadata}
        return tuple(
            OffsetRange(r.topic, r.topic_id, r.partition, start, end)
            for r in self._slice.ranges
            for start, end in lost.get(r.tp, ())
        )

    def _assignments(self, pieces: Mapping[OffsetRange, Sequence[PieceResult]]) -> tuple[TopicPartitionOffset, ...]:
        """Return every partition of the connector, those read with next offset and last timestamp, as the sink does."""
        read = {
            r.tp: next_offset(r, next((p.timestamp for p in reversed(ps) if p.timestamp is not None), None))
            for r, ps in _in_order(pieces).items()
        }
        return tuple(read.get(p.tp, TopicPartitionOffset(p.tp.topic, p.tp.partition)) for p in self._plan.positions)

    def _refuse_changed_topics(self, pieces: Mapping[OffsetRange, Sequence[PieceResult]]) -> None:
        """Refuse ranges whose topic was re-created, or whose start was removed, while they were read."""
        cluster = Cluster.of_source(self._settings)
        logs = {log.tp: log for log in cluster.logs(sorted({r.topic for r in self._slice.ranges}))}
        for r in self._slice.ranges:
            now = logs.get(r.tp)
            if now is None or now.topic_id != r.topic_id:
                msg = f"topic {r.topic!r} was re-created while {r} was read; nothing was announced"
                raise RangeLost(msg)
            first = min((p.first_offset for p in pieces[r] if p.first_offset is not None), default=None)
            if (first is None or first > r.start) and now.log_start > r.start:
                msg = (
                    f"{r} begins with a gap and the log of {r.tp} begins at {now.log_start} by now: records may have "
                    "been removed before they were read. Nothing was announced; the next plan says what is lost."
                )
                raise RangeLost(msg)

    def _announce(self, announcement: Announcement) -> None:
        replay = f"replay-{self._plan.plan_id}-" if self._slice.kind.is_replay else ""
        name = f"{self._connector.name}-{replay}{self._slice.index}"
        transactional_id = f"{self._connector.transactional_prefix}floe-{name}"
        producer = TransactionalProducer(self._settings, transactional_id)
        reach(CrashPoint.WRITE_ANNOUNCE)
        producer.send(self._plan.control_topic, self._plan.group_id, encode_announcement(self._plan, announcement))
        reach(CrashPoint.WRITE_ANNOUNCED)
        for name, books in announcement.tables.items():
            log.info("slice %s announced: table %s, %s", announcement.slice_id, name, books)


def _in_order(pieces: Mapping[OffsetRange, Sequence[PieceResult]]) -> dict[OffsetRange, list[PieceResult]]:
    return {r: sorted(ps, key=lambda p: p.piece.start) for r, ps in pieces.items()}


def _merged_needs(results: Sequence[TaskResult]) -> dict[str, SchemaNeeds]:
    """Return what each table lacks, of those that lack something."""
    merged: dict[str, SchemaNeeds] = {}
    for result in sorted(results, key=lambda result: result.index):
        for name, table in result.tables.items():
            if table.needs is not None:
                merged.setdefault(name, SchemaNeeds()).merge(table.needs)
    return {name: needs for name, needs in merged.items() if needs}


def _raise_failures(results: Sequence[TaskResult]) -> None:
    failures: list[Failure] = [result.failure for result in results if result.failure is not None]
    if not failures:
        return
    first = next((f for f in failures if not f.retryable), failures[0])
    raise (SliceFailed if first.retryable else SliceRefused)(first.message)
