"""Rounds of tasks: tasks run, tables get what they lack, and the tasks that lacked something run again."""

import logging
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from floe.crash_points import CrashPoint, reach
from floe.kafka.reader_limits import ReaderLimits
from floe.schema_registry.exceptions import UnknownSchemas
from floe_job.contract.result import Failure, SchemaLookups, TaskResult
from floe_job.contract.task import Task
from floe_job.dead_letters.limits import bad_records
from floe_job.driver.inputs import SliceInputs
from floe_job.driver.job import SliceJob
from floe_job.driver.slice_tables import SliceTables
from floe_job.exceptions import SliceFailed, SliceRefused
from floe_job.schema.evolution import SchemaChanges
from floe_job.shuffle.partition_sender import writing_tasks

log = logging.getLogger(__name__)

RunTasks = Callable[[Sequence[Task]], list[TaskResult]]

MAX_ROUNDS = 5
"""Maximum rounds caused by missing columns; more means that another process keeps changing the table."""


@dataclass(frozen=True)
class Round:
    """What to run: the tasks of these ``parts``, for these tables. ``results``: those of tasks that need not run again."""

    tables: SliceTables
    parts: tuple[int, ...]
    results: Mapping[int, TaskResult] = field(default_factory=dict)


@dataclass(frozen=True)
class Done:
    """Every task has read and written its part for these tables."""

    tables: SliceTables
    results: tuple[TaskResult, ...]


def run_rounds(inputs: SliceInputs, run_tasks: RunTasks) -> Done:
    """Run the tasks, and again those that lacked a column or a table, until none lacks anything.

    Raises SliceRefused or SliceFailed for the failures of tasks, UnknownSchemas, SchemaConflict, BadRecords, and what the
    catalog raises.
    """
    current = Round(inputs.tables, tuple(range(len(inputs.parts))))
    for number in range(1, MAX_ROUNDS + 1):
        tasks = tasks_of(inputs, current)
        done = run_tasks(tasks)
        raise_failures(done)
        raise_unknown_schemas({**current.results, **{result.index: result for result in done}}.values())
        tables = _evolved(inputs, current.tables, done)
        following = next_round(inputs.job, current, done, tables)
        if isinstance(following, Done):
            return following
        if any(task.writers for task in tasks):  # what was read together is written together
            following = Round(following.tables, tuple(range(len(inputs.parts))))
        log.info("slice %s: %s tasks run again after round %s", inputs.job.slice_id, len(following.parts), number)
        current = following
    msg = (
        f"slice {inputs.job.slice_id} still lacks columns or tables after {MAX_ROUNDS} rounds: another process keeps "
        "changing them. Nothing was announced. Run again"
    )
    raise SliceFailed(msg, code="FLOE-519")


def tasks_of(inputs: SliceInputs, current: Round) -> list[Task]:
    """Return the tasks of a round."""
    job, tables = inputs.job, current.tables
    limits = ReaderLimits(
        job.connector.reading.worker_memory,
        job.connector.reading.batch_bytes,
        is_portable=job.connector.reading.is_portable,
    )
    targets, routes = tables.targets(job, inputs.dead_letters.open_dead_letters), tables.route_rules(job)
    dead_letters, conf, assumed_target = (
        inputs.dead_letters.rules(job),
        job.settings.reader(limits),
        tables.assumed_target(job.connector),
    )
    writers = writing_tasks(targets, len(current.parts), job.connector.reading.tasks)
    return [
        Task(i, inputs.parts[i], targets, routes, dead_letters, conf, assumed_target, writers, limits, inputs.attempt)
        for i in current.parts
    ]


def next_round(job: SliceJob, current: Round, done: Sequence[TaskResult], tables: SliceTables) -> Round | Done:
    """Return what has to run again, after a round with the results ``done`` and the tables ``tables``.

    Raises BadRecords for a table without a column that the connector names.
    """
    results = {**current.results, **{result.index: result for result in done}}
    again = {result.index for result in done if not result.is_complete}
    if not again:
        dropped = tables.without_columns(job, _rows_wanted(results.values()))
        tables = tables.without(dropped)
        again |= {i for i, result in results.items() if any(name in result.tables for name in dropped)}
    # a table that is new, or that has just refused, affects every task; columns affect those that lack them
    if current.tables.found_in(tables):
        again |= set(results)
    if not again:
        return Done(tables, tuple(results[i] for i in sorted(results)))
    return Round(tables, tuple(sorted(again)), results)


def raise_failures(results: Sequence[TaskResult]) -> None:
    """Raise the failures of tasks: first what is final, then all bad records together, then what can be retried."""
    failures: list[Failure] = [result.failure for result in results if result.failure is not None]
    final = next((f for f in failures if not f.retryable), None)
    if final is not None:
        raise SliceRefused(final.message, code=final.code)
    counts = [result.bad for result in results]
    if any(counts):
        raise SliceRefused(bad_records(counts), code="FLOE-501")
    if failures:
        raise SliceFailed(failures[0].message, code=failures[0].code)


def raise_unknown_schemas(results: Collection[TaskResult]) -> None:
    """Raise UnknownSchemas where records have ids of schemas, and the registry has none of them."""
    for what, key, found in (
        ("records", "value.converter", [result.schemas for result in results]),
        ("keys of the records", "key.converter", [result.key_schemas for result in results]),
    ):
        lookups = SchemaLookups.of_all(found)
        if lookups.are_all_unknown:
            named = ", ".join(lookups.names)
            msg = (
                f"the schema registry has none of the schemas that the {what} name, such as {named}: they are of another "
                f"registry, or their converter is another one. Nothing was announced. Check address and class of {key}"
            )
            raise UnknownSchemas(msg)


def _evolved(inputs: SliceInputs, tables: SliceTables, done: Sequence[TaskResult]) -> SliceTables:
    """Return the tables with what the tasks lacked."""
    if all(result.is_complete for result in done):
        return tables
    reach(CrashPoint.WRITE_SCHEMA)
    unknown = {name for result in done for name in result.unknown}
    found = inputs.lookup.discover(tables, unknown) if unknown else tables
    # tasks inferred the columns of a table that they did not get: they must not change the columns that it has
    assumed = {name for name, table in found.by_name.items() if name not in tables.by_name and table.table}
    evolved = inputs.lookup.evolve(found, _changes(done, without=assumed))
    reach(CrashPoint.WRITE_SCHEMA_CHANGED)
    return evolved


def _changes(results: Sequence[TaskResult], without: Container[str]) -> dict[str, SchemaChanges]:
    """Return what is missing by table, ``without`` some tables. Raises SchemaConflict."""
    merged: dict[str, SchemaChanges] = {}
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
            counts = table.counts
            wanted[name] = wanted.get(name, 0) + counts.assigned - counts.dead - counts.held - counts.backlog
    return wanted
