"""The driver's part: hand out a slice's tasks, settle columns, balance the books, announce once."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

from floe.catalogs.catalog import Tables
from floe.commit.table import ledger_of, refuse_other_routes
from floe.config import Connector
from floe.control.announcement import Announcement, SpecFiles, TableShare, encode_announcement, next_offset
from floe.control.events import TableReference, TopicPartitionOffset
from floe.crash import CrashPoint, reach
from floe.kafka.cluster import Cluster
from floe.kafka.settings import KafkaSettings
from floe.kafka.transaction import TransactionalProducer
from floe.offsets.books import RangeBooks, TableBooks, balance_range, balance_tables
from floe.offsets.intervals import Intervals
from floe.offsets.plan import Plan, Slice
from floe.offsets.ranges import OffsetRange
from floe.offsets.routing import MAIN_BRANCH, route_hash
from floe_job.divide import divide
from floe_job.exceptions import BadRecords, RangeLost, SliceFailed, SliceRefused
from floe_job.needs import SchemaNeeds
from floe_job.task import Failure, PieceResult, Target, Task, TaskResult

log = logging.getLogger(__name__)

RunTasks = Callable[[Sequence[Task]], list[TaskResult]]

MOST_ROUNDS = 5
"""Times that tasks run again because a column was missing; more means that somebody else keeps changing the table."""


@dataclass(frozen=True)
class _Table:
    """The table as the driver loaded it, with what its ledger says of the slice."""

    name: str
    table: Table | None
    nets: tuple[tuple[OffsetRange, Intervals], ...]


class SliceWriter:
    """Writes one slice of a plan for the connector's table."""

    def __init__(self, plan: Plan, piece: Slice, connector: Connector, settings: KafkaSettings) -> None:
        self._plan = plan
        self._slice = piece
        self._connector = connector
        self._settings = settings
        self._branch = connector.commit_branch or MAIN_BRANCH
        self._tables = Tables.of(connector)
        self._routes = {t: route_hash(t, connector.commit_branch) for t in connector.topics}

    def write(self, run_tasks: RunTasks) -> Announcement:
        """Read the slice, write its files and announce them. Raises before anything is announced, or not at all."""
        log.info(
            "slice %s: %s ranges, %s offsets",
            self._plan.slice_id(self._slice),
            len(self._slice.ranges),
            self._slice.records,
        )
        table = self._load()
        groups = divide(self._slice.ranges, self._connector.tasks_max)
        results: dict[int, TaskResult] = {}
        todo = list(range(len(groups)))
        for _ in range(MOST_ROUNDS):
            target = self._target(table)
            tasks = [Task(i, groups[i], target, self._settings.reader()) for i in todo]
            done = run_tasks(tasks)
            _raise_failures(done)
            results |= {result.index: result for result in done}
            needs = _merged_needs(done)
            if not needs:
                announcement = self._announcement(table, [results[i] for i in sorted(results)])
                self._announce(announcement)
                return announcement
            if table.table is not None:
                todo = [result.index for result in done if result.needs]
            reach(CrashPoint.WRITE_SCHEMA)
            table = self._grow(table, needs)
            reach(CrashPoint.WRITE_SCHEMA_CHANGED)
        msg = (
            f"table {table.name!r} still lacks columns after {MOST_ROUNDS} rounds: somebody else keeps changing it; "
            "nothing was announced, run again"
        )
        raise SliceFailed(msg)

    # -- the table ----------------------------------------------------------------------------------------------------

    def _load(self) -> _Table:
        name = self._connector.tables[0]
        table = self._tables.load(name) if self._connector.auto_create else self._tables.require(name)
        return _Table(name, table, self._nets(table))

    def _nets(self, table: Table | None) -> tuple[tuple[OffsetRange, Intervals], ...]:
        """Return, per range, the offsets that the table does not hold."""
        if table is None:
            return tuple((r, Intervals.of([(r.start, r.end)])) for r in self._slice.ranges)
        ledger = ledger_of(table, self._branch, self._plan)
        refuse_other_routes(".".join(table.name()), ledger, [(r, self._routes[r.topic]) for r in self._slice.ranges])
        return tuple((r, ledger.net(r, self._routes[r.topic])) for r in self._slice.ranges)

    def _target(self, loaded: _Table) -> Target:
        # every task carries this: of thousands of ranges only those that a repeated run finds held
        held = {r: held for r, net in loaded.nets if (held := Intervals.of([(r.start, r.end)]) - net)}
        table = loaded.table
        if table is None:
            return Target(loaded.name, None, None, {}, held, evolve=True)
        # workers need schema, spec, location and properties; the snapshots would be shipped to each of them
        slim = table.metadata.model_copy(
            update={"snapshots": [], "snapshot_log": [], "metadata_log": [], "refs": {}, "current_snapshot_id": None}
        )
        properties = {**table.metadata.properties, **self._connector.write_props}
        return Target(loaded.name, slim, table.io, properties, held, evolve=self._connector.evolve_schema)

    def _grow(self, loaded: _Table, needs: SchemaNeeds) -> _Table:
        """Create the table, or add its missing columns in one update."""
        if loaded.table is None:
            self._warn_of_earlier_rows(loaded.name)
            log.info("creating table %s with %s columns", loaded.name, needs.count())
            table = self._tables.create(loaded.name, needs.new_schema())
        else:
            log.info("adding %s columns to table %s", needs.count(), loaded.name)
            table = self._tables.require(loaded.name)
            try:
                with self._tables.changing(loaded.name), table.update_schema() as update:
                    needs.apply(update)
            except CommitFailedException as error:
                log.warning("table %s changed meanwhile (%s); looking again", loaded.name, error)
            table = self._tables.require(loaded.name)
            if table.metadata.table_uuid != loaded.table.metadata.table_uuid:
                msg = f"table {loaded.name!r} was replaced while it was written for; nothing was announced, run again"
                raise SliceFailed(msg)
        return _Table(loaded.name, table, loaded.nets)

    def _warn_of_earlier_rows(self, table: str) -> None:
        """Say that a table about to be created cannot be the one that earlier runs wrote to."""
        for live in self._plan.live_ranges(self._slice.ranges):
            if live.since < live.range.start:
                log.warning(
                    "table %s does not exist, but %s was read from %s on before: if the table was dropped, its rows are "
                    "not read again",
                    table,
                    live.range.tp,
                    live.since,
                )
                return

    # -- the announcement ---------------------------------------------------------------------------------------------

    def _announcement(self, loaded: _Table, results: Sequence[TaskResult]) -> Announcement:
        """Check what was read, balance the books and put the announcement together."""
        pieces: dict[OffsetRange, list[PieceResult]] = {r: [] for r in self._slice.ranges}
        for read in (piece for result in results for piece in result.pieces):
            pieces[read.piece.range].append(read)
        self._refuse_changed_topics(pieces)
        books = tuple((r, sum((p.books for p in read), RangeBooks())) for r, read in pieces.items())
        table_books = sum((result.table for result in results), TableBooks())
        if loaded.table is None and table_books.assigned:
            msg = (
                f"table {loaded.name!r} cannot be created: none of the {table_books.assigned} records has a field with "
                "a value. Nothing was announced; create the table yourself, or wait for records with fields."
            )
            raise BadRecords(msg)
        for r, range_books in books:
            balance_range(r, range_books)
        balance_tables([b for _, b in books], {loaded.name: table_books})
        return Announcement(
            slice_id=self._plan.slice_id(self._slice),
            commit_id=self._plan.commit_id,
            kind=self._slice.kind.value,
            ranges=self._slice.ranges,
            shares=self._shares(loaded, results, table_books),
            tables={loaded.name: table_books},
            books=books,
            assignments=self._assignments(pieces),
        )

    def _shares(self, loaded: _Table, results: Sequence[TaskResult], table_books: TableBooks) -> tuple[TableShare, ...]:
        written = [result.files for result in results if result.files is not None and result.files.files]
        if loaded.table is None or not written:
            return ()
        by_spec: dict[int, SpecFiles] = {}
        for spec in written:
            known = by_spec.get(spec.spec_id)
            by_spec[spec.spec_id] = (
                spec if known is None else SpecFiles(spec.spec_id, spec.partition_type, known.files + spec.files)
            )
        *namespace, name = loaded.name.split(".")
        metadata = loaded.table.metadata
        share = TableShare(
            reference=TableReference(self._connector.catalog_name, tuple(namespace), name, metadata.table_uuid),
            branch=self._branch,
            schema_id=metadata.current_schema_id,
            nets=loaded.nets,
            routes=self._routes,
            files=tuple(by_spec.values()),
            books=table_books,
        )
        return (share,)

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
        transactional_id = f"{self._connector.transactional_prefix}floe-{self._connector.name}-{self._slice.index}"
        producer = TransactionalProducer(self._settings, transactional_id)
        reach(CrashPoint.WRITE_ANNOUNCE)
        producer.send(self._plan.control_topic, self._plan.group_id, encode_announcement(self._plan, announcement))
        reach(CrashPoint.WRITE_ANNOUNCED)
        for name, books in announcement.tables.items():
            log.info("slice %s announced: table %s, %s", announcement.slice_id, name, books)


def _in_order(pieces: Mapping[OffsetRange, Sequence[PieceResult]]) -> dict[OffsetRange, list[PieceResult]]:
    return {r: sorted(ps, key=lambda p: p.piece.start) for r, ps in pieces.items()}


def _merged_needs(results: Sequence[TaskResult]) -> SchemaNeeds:
    merged = SchemaNeeds()
    for result in sorted(results, key=lambda result: result.index):
        if result.needs is not None:
            merged.merge(result.needs)
    return merged


def _raise_failures(results: Sequence[TaskResult]) -> None:
    failures: list[Failure] = [result.failure for result in results if result.failure is not None]
    if not failures:
        return
    first = next((f for f in failures if not f.retryable), failures[0])
    raise (SliceFailed if first.retryable else SliceRefused)(first.message)
