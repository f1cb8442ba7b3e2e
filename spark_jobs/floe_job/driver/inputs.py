"""All that the write of a slice needs from the catalog and from Kafka, requested before anything is read."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from floe.config import Connector
from floe.control.announcement import TableAnnouncement
from floe.control.searches import recent_tables
from floe.kafka.admin import Cluster, ensure_dead_letter_topic
from floe.kafka.settings import KafkaSettings
from floe.model.accounting import TableCounts
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.offsets import OffsetRange, PartitionLog, TopicPartition
from floe.model.plan import Plan, Slice, limit_of
from floe.planning.code_check import check_code
from floe.tables.dead_letter_table import DeadLetterTable
from floe.tables.lake import Lake
from floe_job.contract.result import DeadLetterResult
from floe_job.contract.task import DeadLetterRules
from floe_job.driver.job import SliceJob
from floe_job.driver.slice_tables import SliceTable, SliceTables, check_writable
from floe_job.driver.table_lookup import TableLookup
from floe_job.source.record_batch import RangePart

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SliceInputs:
    """What ``prepare`` found. ``job``: without what is done already. ``parts``: what each task reads.

    ``lookup``: the catalog, for tables and columns that records turn out to need. ``is_limited``: whether an earlier
    write of the slice took too long. ``attempt``: differs between attempts to write the slice.
    """

    job: SliceJob
    dead_letters: SliceDeadLetters
    tables: SliceTables
    parts: tuple[tuple[RangePart, ...], ...]
    lookup: TableLookup
    is_limited: bool = False
    attempt: str = field(default_factory=lambda: uuid.uuid4().hex)


def prepare(job: SliceJob) -> SliceInputs:
    """Open the tables of a slice, with their ledgers and open dead letters. Raises the error that prevents reading."""
    check_code(job.plan, job.connector)
    found = SliceState.read(job.connector, job.settings, job.plan, job.slice)
    dead_letters = SliceDeadLetters.of(job, found.dead_letters)
    job = job.with_open_dead_letters(dead_letters.open_dead_letters)
    log.info(
        "slice %s (%s): %s ranges, %s offsets, for %s",
        job.slice_id,
        job.slice.kind,
        len(job.slice.ranges),
        job.slice.records,
        ", ".join(job.slice.tables) or "the tables that records name",
    )
    lookup = TableLookup(job, found.lake)
    tables = lookup.open(found.recent)
    parts = tuple(divide(job.slice.ranges, job.connector.reading.tasks, job.plan.epochs))
    return SliceInputs(job, dead_letters, tables, parts, lookup, is_limited=found.is_limited)


def logs_after_reading(job: SliceJob) -> Mapping[TopicPartition, PartitionLog]:
    """Return the logs of the slice's topics as they are now. Call it after the slice was read, not before."""
    logs = Cluster.of_source(job.settings).logs(sorted(job.topics))
    return {log.tp: log for log in logs}


# Dividing a slice's ranges over tasks: whole ranges where they are small, range parts where one is hot.


MIN_RANGE_PART = 20_000
"""Offsets below which a range is not divided: opening a reader costs more."""


_UNKNOWN: Final[Mapping[TopicPartition, int]] = MappingProxyType({})


def divide(
    ranges: Sequence[OffsetRange], tasks: int, epochs: Mapping[TopicPartition, int] = _UNKNOWN
) -> list[tuple[RangePart, ...]]:
    """Give every task about the same number of offsets; each group is one task's range parts, none is empty.

    ``epochs``: the leader epochs in which the ranges were planned.
    """
    total = sum(len(r) for r in ranges)
    per_task = max(MIN_RANGE_PART, -(-total // max(1, tasks)))
    parts = [
        RangePart(r, part.start, part.end, epochs.get(r.tp))
        for r in ranges
        if len(r)
        for part in r.split(-(-len(r) // per_task))
    ]
    groups: list[list[RangePart]] = [[] for _ in range(min(tasks, len(parts)))]
    loads = [0] * len(groups)
    for part in sorted(parts, key=lambda p: p.start - p.end):
        lightest = loads.index(min(loads))
        groups[lightest].append(part)
        loads[lightest] += part.end - part.start
    return [tuple(sorted(group, key=lambda p: (p.range.tp, p.start))) for group in groups]


# The dead letters of a slice: their table, those that are open, and the announced files of the table.


@dataclass(frozen=True)
class SliceDeadLetters:
    """The destination of the slice's dead letters. ``table``: None without one.

    ``open_dead_letters``: dead letters of the slice's offsets from earlier runs, which are not resolved yet.
    """

    table: SliceTable | None = None
    open_dead_letters: DeadLetterOffsets = field(default_factory=DeadLetterOffsets)

    @classmethod
    def of(cls, job: SliceJob, found: DeadLetterTable | None) -> SliceDeadLetters:
        """Return the destination of the dead letters. Raises TableUnsuitable for a table that no file can be written for."""
        if found is None:
            return cls()
        table = SliceTable(found.state, found.new_offsets)
        check_writable(table.target(job))
        return cls(table, found.open_dead_letters)

    def rules(self, job: SliceJob) -> DeadLetterRules:
        """Return what tasks need to store dead letters."""
        policy = job.connector.errors
        return DeadLetterRules(
            policy=policy,
            connector=job.connector.name,
            commit_id=str(job.plan.commit_id),
            target=None if self.table is None else self.table.target(job),
            known=self.open_dead_letters,
            conf=job.settings.control if policy.topic is not None else {},
        )

    def counts(self, results: Iterable[DeadLetterResult]) -> TableCounts | None:
        """Return the record counts of the table; None without one."""
        return None if self.table is None else sum((result.counts for result in results), TableCounts())

    def announced(self, job: SliceJob, results: Sequence[DeadLetterResult]) -> TableAnnouncement | None:
        """Return what is announced of the table; None where there is none, or nothing for it."""
        counts = self.counts(results)
        if self.table is None or counts is None or not counts.assigned:
            return None
        written = [result.files for result in results if result.files and result.files.files]
        return TableAnnouncement(counts, self.table.written(job.connector, written))


# The state of a slice: all questions to the catalog and to Kafka before it is read.


@dataclass(frozen=True)
class SliceState:
    """What the catalog and Kafka contain for a slice.

    ``lake``: the catalog's tables. ``dead_letters``: None without a dead-letter table. ``recent``: the tables that the
    slice's records will most likely name; a hint. ``is_limited``: whether an earlier write of it took too long.
    """

    lake: Lake
    dead_letters: DeadLetterTable | None
    recent: frozenset[str]
    is_limited: bool

    @classmethod
    def read(cls, connector: Connector, settings: KafkaSettings, plan: Plan, slice_: Slice) -> SliceState:
        """Ask, and create the table and the topic of dead letters where they are missing. Raises what prevents reading."""
        policy = connector.errors
        lake = Lake.of(connector, plan.cluster_id)
        dead_letters = None if policy.table is None else DeadLetterTable.open(lake, policy.table, plan, slice_)
        if policy.topic is not None:
            ensure_dead_letter_topic(Cluster.of_control(settings), policy.topic, policy.topic_replication)
        recent = _recent_tables(connector, settings, plan, slice_)
        return cls(lake, dead_letters, recent, limit_of(plan.positions, slice_.limit_name) is not None)


def _recent_tables(connector: Connector, settings: KafkaSettings, plan: Plan, slice_: Slice) -> frozenset[str]:
    if slice_.tables:
        return frozenset()
    topics = frozenset(r.topic for r in slice_.ranges)
    behind = {table for position in plan.positions for table in position.backlogs}
    recent = recent_tables(settings, plan.control_topic, plan.control_ends, plan.group_id)
    named = {table for table in recent if connector.may_name(topics, table)}
    return frozenset(named | behind) - {plan.dead_letters or ""}
