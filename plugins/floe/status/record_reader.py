"""The status record of a connector: looked up every minute, and after each run as far as the run knows it already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, TypeVar

from floe.config import Connector
from floe.config.secrets.mask import clip
from floe.kafka.settings import KafkaSettings
from floe.status.model import CommitStatus, ConnectorStatus, TableStatus
from floe.status.parts.control_events import control_events
from floe.status.parts.held_offsets import held_offsets
from floe.status.parts.history import new_rows, with_point
from floe.status.parts.open_dead_letters import is_due, open_dead_letters, size_problem
from floe.status.parts.unread_age import UnreadAge
from floe.status.reader import LookUp, counted, look_up
from floe.status.record import StatusRecord
from floe.status.tables import MAX_CHARACTERS, problem_of

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
