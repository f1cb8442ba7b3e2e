"""The status record of a connector: looked up every minute, and after each run as far as the run knows it already."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar

import confluent_kafka as ck
from pyiceberg.table import Table

from floe.config import Connector
from floe.config.secrets.mask import clip
from floe.exceptions import FloeError
from floe.kafka.access import NotPermitted
from floe.kafka.admin import Cluster
from floe.kafka.client_log import ClientLog
from floe.kafka.settings import KafkaSettings
from floe.kafka.tokens import with_tokens
from floe.model.holding import Holding, LogId
from floe.model.ledger import Ledger
from floe.model.ledger_codec import property_name, read_properties
from floe.model.offsets import Intervals, TopicPartition
from floe.status.connector_status import CommitStatus, ConnectorStatus, PartitionStatus, TableStatus
from floe.status.control_events import control_events
from floe.status.dead_letters import is_due, open_dead_letters, size_problem
from floe.status.reader import LookUp, counted, look_up
from floe.status.record import HeldOffsets, StatusRecord
from floe.status.record_codec import new_rows, with_most_spans, with_point
from floe.status.tables import MAX_CHARACTERS, Found, TableReader, problem_of
from floe.tables.table_state import origin_of

COMMITS: Final = 20
"""Of each table."""

MAX_PROBLEMS: Final = 50

T = TypeVar("T")


def collect_record(connector: Connector, settings: KafkaSettings, former: StatusRecord | None) -> StatusRecord:
    """Return the record of a connector now. Kafka and the catalog are asked, and nothing is written.

    Nothing is raised: what does not answer is among the problems, and what it would have been asked for is taken over from
    the ``former`` record, but lag and ages, which are not known then.
    """
    try:
        return _Collection(connector, settings, former).record()
    except Exception as error:  # noqa: BLE001 - a status is what is known, whatever goes wrong
        return unknown_record(connector.name, connector.group_id, [problem_of(error)], former)


def unknown_record(name: str, group_id: str, problems: Iterable[str], former: StatusRecord | None) -> StatusRecord:
    """Return the record of a connector that could not be asked, with the reasons: its file is broken, for example."""
    texts = tuple(clip(" ".join(problem.split()), MAX_CHARACTERS) for problem in list(problems)[:MAX_PROBLEMS])
    return _followed(former, ConnectorStatus(name, group_id, datetime.now(UTC), problems=texts), None)


def rebased(record: StatusRecord, latest: StatusRecord | None, dead_letters: str | None) -> StatusRecord:
    """Return a collected record as the one that follows ``latest``, which a run may have kept meanwhile.

    The later of both statuses counts, and no row is counted twice or left out. ``dead_letters``: the dead-letter table.
    """
    if latest is None:
        return record
    status = record.status if record.status.at >= latest.status.at else latest.status
    rows = new_rows(latest, status, dead_letters)
    history = with_point(latest.history, status.at, status.lag, rows)
    return replace(record, status=status, history=history, rows=latest.rows + rows)


def record_after_run(
    status: ConnectorStatus, former: StatusRecord | None, commits: Mapping[str, CommitStatus], dead_letters: str | None
) -> StatusRecord:
    """Return the record at the end of a run, of what the run knows; nothing is asked, all else is the former record's.

    ``status``: without tables. ``commits``: the run's own, by table. ``dead_letters``: the dead-letter table. While records
    are unread, their age is the one of the last look-up.
    """
    known = None if former is None else former.status.tables
    tables = None if known is None else tuple(_with_commit(table, commits.get(table.name)) for table in known)
    record = _followed(former, replace(status, tables=tables), dead_letters)
    if former is None or not status.lag:
        return record
    return replace(record, lag_seconds=former.lag_seconds, seconds_until_lost=former.seconds_until_lost)


def _with_commit(table: TableStatus, commit: CommitStatus | None) -> TableStatus:
    if commit is None or any(one.snapshot_id == commit.snapshot_id for one in table.commits):
        return table
    commits = (commit, *table.commits)[:COMMITS]
    rows = None if table.rows is None else table.rows + commit.rows  # until the next look-up, as others write too
    return replace(table, exists=True, snapshot_id=commit.snapshot_id, commits=commits, problem=None, rows=rows)


def _followed(former: StatusRecord | None, status: ConnectorStatus, dead_letters: str | None) -> StatusRecord:
    """Return a record of this status, with all that is not in it taken over from the former record."""
    rows = new_rows(former, status, dead_letters)
    if former is None:
        return StatusRecord(status, history=with_point((), status.at, status.lag, rows))
    return replace(
        former,
        status=status,
        history=with_point(former.history, status.at, status.lag, rows),
        lag_seconds=None,
        seconds_until_lost=None,
        rows=former.rows + rows,
    )


@dataclass
class _Collection:
    """One look-up of one connector."""

    connector: Connector
    settings: KafkaSettings
    former: StatusRecord | None
    problems: list[str] = field(default_factory=list)

    def record(self) -> StatusRecord:
        look = look_up(self.connector, self.settings, COMMITS)
        status = replace(look.status, tables=self._with_known_counts(look.status.tables))
        record = _followed(self.former, status, self.connector.errors.table)
        record = self._with_dead_letters(record, look)
        if look.reader is not None:
            reader, topic_ids = (
                look.reader,
                {log.tp.topic: log.topic_id for log in look.kafka.logs} if look.kafka else {},
            )
            known = (status.partitions or ()) if look.is_kafka_first else ()
            committed = {one.tp: one.committed for one in known if one.committed is not None}
            held = self._tried(lambda: held_offsets(reader, look.found, topic_ids, committed))
            record = record if held is None else replace(record, held=held)
        if look.kafka is not None:
            record = self._with_events(self._with_ages(record))
        problems = (*record.status.problems, *self.problems)[:MAX_PROBLEMS]
        return replace(record, status=replace(record.status, problems=problems))

    def _with_known_counts(self, tables: tuple[TableStatus, ...] | None) -> tuple[TableStatus, ...] | None:
        """Set the number of open dead letters of each table as the former record has it."""
        known = {one.name: one.open_dead_letters for one in (self.former.status.tables if self.former else None) or ()}
        return tables and tuple(replace(one, open_dead_letters=known.get(one.name)) for one in tables)

    def _with_dead_letters(self, record: StatusRecord, look: LookUp) -> StatusRecord:
        name, reader, kafka, now = self.connector.errors.table, look.reader, look.kafka, record.status.at
        if name is None:
            return replace(record, dead_letters=None, dead_letters_at=None)
        if reader is None or kafka is None or not is_due(self.former, record.status, name, now):
            return record
        if too_large := size_problem(name, look.found.get(name)):
            self.problems.append(too_large)
            return replace(record, dead_letters=None, dead_letters_at=None)
        found = self._tried(lambda: open_dead_letters(reader, look.found, kafka.logs))
        if found is None:
            return record
        reasons, places = found
        tables = counted(record.status.tables or (), places, name)
        status = replace(record.status, tables=tables)
        return replace(record, status=status, dead_letters=reasons, dead_letters_at=now)

    def _with_ages(self, record: StatusRecord) -> StatusRecord:
        partitions = record.status.partitions or ()
        age = self._tried(lambda: UnreadAge.of(partitions, self.settings, record.status.at))
        if age is None:
            return record  # in which they are not known
        return replace(record, lag_seconds=age.lag_seconds, seconds_until_lost=age.seconds_until_lost)

    def _with_events(self, record: StatusRecord) -> StatusRecord:
        known = () if self.former is None else self.former.events
        events = self._tried(lambda: control_events(self.connector, self.settings, known))
        return record if events is None else replace(record, events=events)

    def _tried(self, look: Callable[[], T]) -> T | None:
        """Return what a look-up finds; None, and a problem, where it fails."""
        try:
            return look()
        except Exception as error:  # noqa: BLE001 - one part that cannot be had hides no other
            self.problems.append(problem_of(error))
            return None


# The offsets that tables contain of each partition, from their ledgers: the newest spans.


MAX_SPANS: Final = 20
MAX_ENTRIES: Final = 2_000
"""Spans of each entry, and entries: a table's partitions."""


def held_offsets(
    reader: TableReader,
    found: Mapping[str, Found],
    topic_ids: Mapping[str, str],
    committed: Mapping[TopicPartition, int] = MappingProxyType({}),
) -> tuple[HeldOffsets, ...]:
    """Return what the connector's tables contain, by table and partition; nothing of the dead-letter table.

    ``topic_ids``: of the topics that exist. Of a topic that is not among them, its last incarnation counts. A table whose
    ledger cannot be read has its problem in its own status. ``committed``: the group's offsets, as far as they were known
    before the tables were loaded.
    """
    every = (
        replace(held, committed=committed.get(TopicPartition(held.topic, held.partition)))
        for name, table in found.items()
        for held in _of_table(reader, name, table, topic_ids)
    )
    return with_most_spans(every, MAX_ENTRIES)


def _of_table(reader: TableReader, name: str, table: Found, topic_ids: Mapping[str, str]) -> Iterator[HeldOffsets]:
    if not isinstance(table, Table) or name == reader.connector.errors.table:
        return
    group_id = reader.connector.group_id
    try:
        origin = origin_of(table.metadata, reader.routes.branch(name), group_id)
        ledger = read_properties(property_name(group_id, origin), table.metadata.properties)
    except FloeError:
        return
    for log_id, holding in _present(ledger, topic_ids):
        spans = Intervals.of(span for held in holding.held.values() for span in held).spans
        if spans:
            newest = Intervals(spans[-MAX_SPANS:])
            yield HeldOffsets(name, log_id.topic, log_id.partition, newest, len(spans) - len(newest.spans))


def _present(ledger: Ledger | None, topic_ids: Mapping[str, str]) -> list[tuple[LogId, Holding]]:
    """Return the holdings of one incarnation of each topic, by topic and partition."""
    holdings = {} if ledger is None else ledger.holdings
    last = {log_id.topic: log_id.topic_id for log_id in holdings}
    ids = last | {topic: topic_ids[topic] for topic in last.keys() & topic_ids.keys()}
    return sorted(
        ((log_id, holding) for log_id, holding in holdings.items() if log_id.topic_id == ids[log_id.topic]),
        key=lambda item: item[0],
    )


# How old the oldest unread record is, and when retention removes it.


MAX_PARTITIONS: Final = 100
"""Partitions of which a record is read, those with the largest lag."""

MAX_SECONDS: Final = 5.0


class UnreadAge(NamedTuple):
    """``lag_seconds``: since the oldest unread record was written. ``seconds_until_lost``: until retention removes it.

    Both are None where nothing is unread or no timestamp was found, the second also where the topics keep their records,
    or floe may not see their configuration. Only ``retention.ms`` counts: of ``retention.bytes`` no moment is known.
    """

    lag_seconds: float | None = None
    seconds_until_lost: float | None = None

    @classmethod
    def of(cls, partitions: Sequence[PartitionStatus], settings: KafkaSettings, now: datetime) -> UnreadAge:
        """Ask the brokers. Raises the errors of ``floe.kafka``, and KafkaException."""
        behind = heapq.nlargest(MAX_PARTITIONS, (one for one in partitions if one.lag), key=lambda one: one.lag)
        starts = {one.tp: max(one.committed or 0, one.log_start) for one in behind}
        times = record_times(settings, starts, MAX_SECONDS)
        if not times:
            return cls()
        retention = _retention_ms(settings, {tp.topic for tp in times})
        now_ms = now.timestamp() * 1000
        oldest = min(times.values())
        lost = [
            max(0.0, at + kept - now_ms) for tp, at in times.items() if (kept := retention.get(tp.topic)) is not None
        ]
        return cls(max(0.0, now_ms - oldest) / 1000, min(lost) / 1000 if lost else None)


def _retention_ms(settings: KafkaSettings, topics: Collection[str]) -> dict[str, int]:
    """Return how long topics keep their records; without those that keep them for ever."""
    cluster = Cluster.of_source(settings)
    try:
        found = {topic: cluster.retention_ms(topic) for topic in sorted(topics)}
    except NotPermitted:
        return {}
    return {topic: kept for topic, kept in found.items() if kept is not None}


# Timestamps of single records: one record of each of some partitions is read, no more.


_FETCH_BYTES: Final = 65_536
"""Of a partition that the client asks for; a batch that is larger is delivered when its turn comes."""

_ONE_RECORD: Final = {
    "queued.min.messages": 1,
    "fetch.message.max.bytes": _FETCH_BYTES,
    "queued.max.messages.kbytes": 4_096,
}


def record_times(
    settings: KafkaSettings, starts: Mapping[TopicPartition, int], seconds: float
) -> dict[TopicPartition, int]:
    """Return the timestamp of the first committed record at or after an offset, in epoch ms, by partition.

    Partitions are missing whose record has no timestamp, or was not delivered in ``seconds``: this waits no longer, and
    raises nothing for a broker that does not answer. Raises KafkaException for settings that the client does not take.
    """
    found: dict[TopicPartition, int] = {}
    if not starts:
        return found
    consumer = ck.Consumer({**with_tokens(settings.reader()), **_ONE_RECORD, "logger": ClientLog()})
    until = time.monotonic() + seconds
    left = set(starts)
    try:
        consumer.assign([ck.TopicPartition(tp.topic, tp.partition, offset) for tp, offset in starts.items()])
        while left and time.monotonic() < until:
            message = consumer.poll(0.1)
            if message is None:
                continue
            tp = TopicPartition(message.topic() or "", message.partition() or 0)
            if tp not in left or not _is_of_partition(message):
                continue
            left.discard(tp)
            consumer.pause([ck.TopicPartition(tp.topic, tp.partition)])
            kind, timestamp = message.timestamp()
            if message.error() is None and kind != ck.TIMESTAMP_NOT_AVAILABLE and timestamp >= 0:
                found[tp] = timestamp
    finally:
        consumer.close()
    return found


def _is_of_partition(message: ck.Message) -> bool:
    """Return whether this is a record, the end of a partition, or an error of it; not one of the whole client."""
    error = message.error()
    return error is None or not error.retriable()
