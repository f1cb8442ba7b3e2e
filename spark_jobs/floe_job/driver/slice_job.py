"""The driver's part: hand out a slice's tasks, give tables what they lack, announce once."""

import logging
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace

from floe.catalogs.client import Tables
from floe.config import Connector
from floe.control.announcement import Announcement
from floe.control.recent_tables import recent_tables
from floe.crash_points import CrashPoint, reach
from floe.kafka.reader_limits import ReaderLimits
from floe.kafka.settings import KafkaSettings
from floe.model.plan import Plan, Slice
from floe.model.plan_seal import PlanKey
from floe.model.slice_kind import ReadReason
from floe_job.contract.result import Failure, TaskResult
from floe_job.contract.task import Task
from floe_job.dead_letters.limits import bad_records
from floe_job.driver.announce import Announcer
from floe_job.driver.dead_letters import SliceLetters
from floe_job.driver.slice_tables import SliceTables
from floe_job.driver.split_ranges import divide
from floe_job.exceptions import SliceFailed, SliceRefused
from floe_job.schema.evolution import SchemaNeeds
from floe_job.shuffle.distribution import writing_tasks
from floe_job.source.piece import Piece

log = logging.getLogger(__name__)

RunTasks = Callable[[Sequence[Task]], list[TaskResult]]

MOST_ROUNDS = 5
"""Times that tasks run again because a column was missing; more means that somebody else keeps changing the table."""


def _always() -> None:
    """Let the announcement be sent."""


class SliceWriter:
    """Writes one slice of a plan for the connector's tables. ``key``: signs its announcement; tasks never get it."""

    def __init__(
        self, plan: Plan, piece: Slice, connector: Connector, settings: KafkaSettings, key: PlanKey | None
    ) -> None:
        self._begun = time.monotonic()
        self._plan = plan
        self._slice = piece
        self._connector = connector
        self._settings = settings
        self._key = key
        catalog = Tables.of(connector)
        self._letters = SliceLetters(catalog, plan, piece, connector, settings)
        if piece.reason is ReadReason.DEAD_LETTERS:
            # what was resolved since the plan was made is no business of it any more
            self._slice = replace(piece, letters=piece.letters & self._letters.open)
        self._tables = SliceTables(catalog, plan, self._slice, connector, self._letters.open)

    def write(self, run_tasks: RunTasks, may_announce: Callable[[], None] = _always) -> Announcement:
        """Read the slice, write its files and announce them. Raises before anything is announced, or not at all.

        ``may_announce`` is called before anything is sent, and raises if nothing may be.
        """
        log.info(
            "slice %s (%s): %s ranges, %s offsets, for %s",
            self._plan.slice_id(self._slice),
            self._slice.kind,
            len(self._slice.ranges),
            self._slice.records,
            ", ".join(self._slice.tables) or "the tables that records name",
        )
        self._tables.load(self._recent_tables())
        results = self._run(run_tasks, divide(self._slice.ranges, self._connector.tasks_max))
        announcer = Announcer(
            self._plan, self._slice, self._connector, self._settings, self._letters, self._tables, self._key
        )
        return announcer.announce(results, may_announce, self._begun)

    def _recent_tables(self) -> frozenset[str]:
        """Return the tables that the slice's records will most likely name."""
        if self._slice.tables:
            return frozenset()
        owing = {table for position in self._plan.positions for table in position.debts}
        plan = self._plan
        recent = recent_tables(self._settings, plan.control_topic, plan.control_ends, plan.group_id)
        topics = {r.topic for r in self._slice.ranges}
        named = {table for table in recent if self._connector.may_name(topics, table)}
        return frozenset(named | owing) - {plan.letters or ""}

    def _run(self, run_tasks: RunTasks, groups: Sequence[tuple[Piece, ...]]) -> list[TaskResult]:
        """Run the tasks, and again those that lacked a column or a table, until none lacks anything."""
        results: dict[int, TaskResult] = {}
        todo = list(range(len(groups)))
        limits = ReaderLimits(
            self._connector.worker_memory,
            self._connector.batch_max_bytes,
            is_portable=self._connector.is_read_portably,
        )
        for _ in range(MOST_ROUNDS):
            targets, routes, guess = self._tables.targets(), self._tables.routes(), self._tables.guess()
            letters, conf = self._letters.rules(), self._settings.reader(limits)
            writers = writing_tasks(targets, len(todo), self._connector.tasks_max)
            done = run_tasks([Task(i, groups[i], targets, routes, letters, conf, guess, writers, limits) for i in todo])
            _raise_failures(done)
            results |= {result.index: result for result in done}
            todo = self._settle(results, done)
            if not todo:
                return [results[i] for i in sorted(results)]
            if writers:  # what was read together is written together
                results, todo = {}, list(range(len(groups)))
        msg = (
            f"slice {self._plan.slice_id(self._slice)} still lacks columns or tables after {MOST_ROUNDS} rounds: somebody "
            "else keeps changing them; nothing was announced, run again"
        )
        raise SliceFailed(msg, code="FLOE-519")

    def _settle(self, results: Mapping[int, TaskResult], done: Sequence[TaskResult]) -> list[int]:
        """Give tables what the tasks lack; return the tasks that have to run again."""
        given = dict(self._tables.by_name)
        again = {result.index for result in done if not result.is_complete}
        unknown = {name for result in done for name in result.unknown}
        if again:
            reach(CrashPoint.WRITE_SCHEMA)
            if unknown:
                self._tables.discover(unknown)
            # of a table that the tasks were not given they guessed: what it has itself is not for them to change
            guessed = {name for name, table in self._tables.by_name.items() if name not in given and table.table}
            self._tables.grow(_merged_needs(done, without=guessed))
            reach(CrashPoint.WRITE_SCHEMA_CHANGED)
        else:
            barren = self._tables.drop_barren(_rows_wanted(results.values()))
            again |= {i for i, result in results.items() if any(name in result.tables for name in barren)}
        # a table that is new, or that has just refused, concerns every task; columns concern those that lack them
        for name, old in given.items():
            now = self._tables.by_name.get(name)
            if now is not None and now is not old and (old.table is None or now.table is None):
                again |= set(results)
        return sorted(again)


def _merged_needs(results: Sequence[TaskResult], without: Container[str]) -> dict[str, SchemaNeeds]:
    """Return what each table lacks, of those that lack something, ``without`` some. Raises SchemaConflict."""
    merged: dict[str, SchemaNeeds] = {}
    for result in sorted(results, key=lambda result: result.index):
        for name, table in result.tables.items():
            if name in without:
                continue
            if table.needs and name in merged:
                merged[name].merge(table.needs)
            elif table.needs:
                merged[name] = table.needs
    return merged


def _rows_wanted(results: Iterable[TaskResult]) -> dict[str, int]:
    """Return per table the records that should have become rows."""
    wanted: dict[str, int] = {}
    for result in results:
        for name, table in result.tables.items():
            books = table.books
            wanted[name] = wanted.get(name, 0) + books.assigned - books.dead - books.held - books.owed
    return wanted


def _raise_failures(results: Sequence[TaskResult]) -> None:
    """Raise what tasks failed of: first what is final, then all bad records together, then what may pass."""
    failures: list[Failure] = [result.failure for result in results if result.failure is not None]
    final = next((f for f in failures if not f.retryable), None)
    if final is not None:
        raise SliceRefused(final.message, code=final.code)
    counts = [result.bad for result in results]
    if any(counts):
        raise SliceRefused(bad_records(counts), code="FLOE-501")
    if failures:
        raise SliceFailed(failures[0].message, code=failures[0].code)
