"""Making the plan of a replay: admin calls, table loads, pure decisions, and the event that opens it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from typing import Any

from uuid6 import uuid7

from floe.config import Connector
from floe.config.overrides.run_overrides import replace_keys
from floe.control.headers import header_list
from floe.control.signature import signed
from floe.control.topic_reader import control_ends
from floe.control.wire.codec import encode
from floe.control.wire.events import Event, StartCommit
from floe.kafka.admin import Cluster
from floe.kafka.exceptions import KafkaMisconfigured
from floe.kafka.settings import KafkaSettings
from floe.kafka.transactions import ControlRecord, TransactionalProducer, replay_transactional_id
from floe.kafka.truncation import divergences, epochs_of
from floe.model.exceptions import PlanRefused
from floe.model.offsets import OffsetRange, PartitionLog, TopicPartition
from floe.model.plan import Plan, Slice, SliceKind
from floe.model.plan_seal import PlanKey
from floe.model.positions import Position, check_owner
from floe.model.route_hash import MAIN_BRANCH
from floe.planning.dead_letter_replay import (
    DeadLetterForecast,
    dead_letter_ledgers,
    dead_letter_table,
    find_dead_letters,
)
from floe.planning.refusing_tables import of_takers, table_offsets
from floe.planning.replay_request import EPOCH, MAX_NAMED, Bounds, ReplayRequest, raise_problems
from floe.planning.slicing import Forecast, cut, forecast
from floe.tables.file_checks import file_access
from floe.tables.lake import Lake
from floe.tables.row_removal import OriginColumns, RowRemover, check_has_transform, check_no_shared_offsets
from floe.tables.table_state import EVERY_TABLE, Routes, TableState

BRANCH_KEY = "iceberg.tables.default-commit-branch"


@dataclass(frozen=True)
class Replay:
    """The plan of a replay, without slices when there is nothing to write, and what it means for each table.

    ``dead_letters``: what a redrive means, in the place of ``forecasts``. ``removals``: the rows that a replacement removes.
    ``is_dry``: it is only to be shown.
    """

    plan: Plan
    forecasts: tuple[Forecast, ...]
    request: ReplayRequest
    branch: str
    dead_letters: tuple[DeadLetterForecast, ...] = ()
    removals: tuple[RemovalForecast, ...] = ()
    is_dry: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return what a dry run shows, in offsets; for dead letters, in dead letters."""
        return {
            "topic": self.request.topic,
            "overlap": self.request.overlap.value,
            "branch": self.branch,
            "slices": len(self.plan.slices),
            **({"removes": [f.to_json() for f in self.removals]} if self.removals else {}),
            **({"letters": [f.to_json() for f in self.dead_letters]} if self.request.dead_letters else {}),
            "tables": [
                {
                    "table": f.table,
                    "partition": f.range.partition,
                    "range": [f.range.start, f.range.end],
                    "read": f.read,
                    "held": f.held,
                    "write": f.write,
                }
                for f in self.forecasts
            ],
        }


def draft_replay(
    connector: Connector, settings: KafkaSettings, params: Mapping[str, Any], *, dry_run: bool = False
) -> Replay:
    """Freeze what a replay reads, as a run's params ask for it. Nothing is written.

    A missing control topic is created when there is something to replay, though not on a dry run. A request that does not
    say what to read is one: see ``ReplayRequest.is_open``. Raises PlanRefused
    for what was not read before, is gone, or will be read by the connector's main DAG, ConfigError for an impossible branch,
    TableRefused, and the errors of ``floe.kafka`` and ``floe.catalogs``.
    """
    request = ReplayRequest.of(
        params,
        connector.topics,
        connector.tables,
        connector.reading.max_records,
        may_name_any=connector.routing.is_dynamic,
    )
    _check_nameable(connector, request)
    dry_run = dry_run or request.is_open
    target = connector
    if branch := params.get("branch"):
        _check_no_dots(connector, str(branch))
        target = replace_keys(connector, _on_branch(connector, branch))
    source, control = Cluster.of_source(settings), Cluster.of_control(settings)
    control.check_no_members(connector.group_id)
    logs = source.logs([request.topic])
    tps = [log.tp for log in logs]
    positions = control.positions(connector.group_id, tps)
    check_owner(positions.values(), connector.name)
    cluster_id = source.cluster_id()
    truncated = divergences(settings, logs, epochs_of(logs, positions, cluster_id))
    marks = _marks(source, tps, request.window)
    ranges = resolve(request, ReplayContext(cluster_id, logs, positions, marks, truncated))
    there, here = Routes(target), Routes(connector)
    _check_not_main(there, here, request.tables or (EVERY_TABLE, *(name for name, _ in connector.settings.known)))
    empty = Plan(
        plan_id=replay_id(),
        connector=connector.name,
        group_id=connector.group_id,
        cluster_id=cluster_id,
        config=target.frozen(),
        control_topic=connector.control_topic,
        control_ends={},
        positions=(),
        slices=(),
        code=target.code,
    )
    lake = cache(lambda: Lake.of(target, cluster_id))
    redrive = None
    if request.dead_letters:
        redrive = find_dead_letters(dead_letter_table(target), lake(), connector, request, ranges)
    tables = request.tables if redrive is None or None in redrive.chosen.by_table else redrive.chosen.tables
    met = ranges if redrive is None else redrive.met(ranges)
    check_no_backlogs(met, positions, [t for t in tables if there.branch(t) == here.branch(t)])
    branches = ", ".join(sorted({there.branch(table) for table in tables}))
    replay = Replay(empty, (), request, branches, is_dry=dry_run)
    if request.replaces:
        check_not_compacted(source, request.topic)
        replay = replace(replay, removals=forecast_removals(target, lake, empty, request, ranges))
    if redrive is None:
        offsets = table_offsets(lake(), empty, request, ranges)
        ranges_of_slices = cut(ranges, list(offsets.new.values()), request.max_records)
        slices = tuple(
            Slice(i, SliceKind(request.overlap), of_slice, request.tables)
            for i, of_slice in enumerate(ranges_of_slices)
        )
        replay = replace(replay, forecasts=forecast(ranges, ranges_of_slices, offsets.new, offsets.held))
    else:
        ledgers = dead_letter_ledgers(lake(), redrive.chosen.tables)
        slices = redrive.slices(ranges, request, target)
        replay = replace(replay, dead_letters=redrive.forecasts(ledgers))
    ends = _control_ends(control, connector.control_topic) if slices and not dry_run else {}
    return replace(replay, plan=replace(empty, slices=slices, control_ends=ends))


def _on_branch(connector: Connector, branch: str) -> dict[str, str]:
    """Return the keys that put every table on a branch, those too that have one of their own."""
    own = [f"iceberg.table.{table}.commit-branch" for table, _ in connector.settings.known]
    return {BRANCH_KEY: branch, **{key: branch for key in own if key in connector.properties}}


def _check_no_dots(connector: Connector, branch: str) -> None:
    """Raise PlanRefused for a branch that only a run names, and whose ledger could have the name of another group's.

    A ledger's property is named ``<group>.<branch>``: that of group a on branch x.main is that of group a.x on main.
    """
    own = {settings.branch for _, settings in connector.settings.known} | {connector.settings.default.branch}
    if "." in branch and branch not in own:
        msg = (
            f"branch {branch[:100]!r} has a dot, so its ledger could be confused with that of another connector, whose "
            "name is this one with a dot and a suffix. Nothing was written. Name a branch without dots, or set it in the "
            "connector file"
        )
        raise PlanRefused(msg, code="FLOE-307")


def _check_nameable(connector: Connector, request: ReplayRequest) -> None:
    """Raise PlanRefused for tables of a replay that no record of the topic can name."""
    template = connector.routing.template
    unknown_tables = [t for t in request.tables if template is not None and not connector.may_name([request.topic], t)]
    if unknown_tables:
        msg = (
            f"table {unknown_tables[0][:100]!r} is not named by records of {request.topic!r} ({template}). Nothing was "
            "read. Choose other `tables`, or none for all"
        )
        raise PlanRefused(msg, code="FLOE-301")


def _check_not_main(there: Routes, here: Routes, tables: Iterable[str]) -> None:
    """Raise PlanRefused for a table that the connector keeps from main: whoever starts a replay does not publish it."""
    kept = [t for t in tables if there.branch(t) == MAIN_BRANCH != here.branch(t)]
    if kept:
        names = ", ".join("the tables that records name" if t == EVERY_TABLE else repr(t) for t in kept)[:300]
        msg = (
            f"branch main: the connector file commits {names} to another branch, so a replay does not write to main. "
            "Nothing was written. Leave the branch empty, name another one, or change the connector file"
        )
        raise PlanRefused(msg, code="FLOE-307")


def open_replay(plan: Plan, connector: Connector, settings: KafkaSettings, key: PlanKey | None) -> None:
    """Send StartCommit by a producer of the replay's own, with no position. Repeating it is harmless."""
    producer = TransactionalProducer.open(settings, replay_transactional_id(connector, plan))
    headers = header_list(plan.slice_id(plan.slices[0]), plan.slices[0].kind)
    start = ControlRecord(encode(Event.of(plan.group_id, StartCommit(plan.commit_id))), headers)
    producer.send(plan.control_topic, plan.group_id, signed(key, [start]))


def replay_id() -> str:
    """Return a new id that is above those of earlier replays: a UUIDv7 (RFC 9562), as 32 hex digits."""
    return uuid7().hex


def _marks(source: Cluster, tps: Sequence[TopicPartition], window: Bounds | None) -> dict[TopicPartition, Bounds]:
    if window is None:
        return {}
    start, end = (dict.fromkeys(tps) if moment is None else source.offsets_at(tps, moment) for moment in window)
    return {tp: (start[tp], end[tp]) for tp in tps}


def _control_ends(control: Cluster, topic: str) -> dict[int, int]:
    """Return where announcements of a plan made now would begin; a missing control topic is created."""
    control.ensure_control_topic(topic)
    return control_ends(control, topic)


# Resolving a replay request: to ranges that the log still has and that were read before.


@dataclass(frozen=True, slots=True)
class ReplayContext:
    """What a request is resolved against: one topic's logs, the group's positions, and the cluster.

    ``marks``: where the window begins and ends in each partition, by Kafka's timestamp index; None: past the last record.
    ``divergences``: by partition the first offset that has another record than the one that was read.
    """

    cluster_id: str
    logs: Sequence[PartitionLog]
    positions: Mapping[TopicPartition, Position]
    marks: Mapping[TopicPartition, Bounds]
    divergences: Mapping[TopicPartition, int] = field(default_factory=dict)


def resolve(request: ReplayRequest, context: ReplayContext) -> tuple[OffsetRange, ...]:
    """Return the ranges to replay, none of them empty, all at or above the log start and below the position.

    Raises PlanRefused, naming every partition that is in the way, or when there is nothing at all in the request.
    """
    logs = {log.tp.partition: log for log in context.logs}
    positions = {p: context.positions[log.tp] for p, log in logs.items() if log.tp in context.positions}
    if not positions:
        msg = (
            f"no partition of topic {request.topic!r} has a position: no run of the connector has read it yet, or the "
            "positions were lost. Run the connector's main DAG first (with `recover` if they were lost)."
        )
        raise PlanRefused(msg, code="FLOE-302")
    named = request.ranges or dict.fromkeys(positions, (None, None))
    if request.window is not None:
        named = {p: _marked(request.window, context.marks[logs[p].tp], logs[p], positions[p]) for p in positions}
    problems: list[str] = []
    ranges = []
    for partition, bounds in sorted(named.items()):
        problem = _unreadable(request.topic, partition, logs, positions, context.cluster_id)
        if problem is None:
            log, position = logs[partition], positions[partition]
            start = log.log_start if bounds[0] is None else bounds[0]
            end = position.offset if bounds[1] is None else bounds[1]
            problem = _misplaced(log, position, start, end) if request.ranges else None
            problem = problem or _truncated(log, end, context.divergences.get(log.tp))
            if problem is None and start < end:
                ranges.append(OffsetRange(request.topic, log.topic_id, partition, start, end))
        if problem is not None:
            problems.append(problem)
    raise_problems(problems)
    if not ranges:
        raise PlanRefused(_nothing(request, positions), code="FLOE-302")
    return tuple(ranges)


def check_no_backlogs(
    ranges: Iterable[OffsetRange], positions: Mapping[TopicPartition, Position], tables: Iterable[str]
) -> None:
    """Raise PlanRefused when a table is behind on offsets of a range: its catch-up loads them, a replay would conflict."""
    chosen = set(tables)
    raise_problems(
        f"table {table!r} is behind on {r.tp} from {backlog.start} on, which the connector's main DAG reads. Nothing was "
        f"read. End the range at {backlog.start} at most, or leave the table out of `tables`"
        for r in ranges
        for table, backlog in sorted(positions[r.tp].backlogs.items())
        if table in chosen and backlog.start < r.end
    )


# -- one partition ----------------------------------------------------------------------------------------------------


def _unreadable(
    topic: str,
    partition: int,
    logs: Mapping[int, PartitionLog],
    positions: Mapping[int, Position],
    cluster_id: str,
) -> str | None:
    if partition not in logs:
        return f"partition {partition} of topic {topic!r} does not exist: it has the partitions 0 to {max(logs)}"
    log, position = logs[partition], positions.get(partition)
    if position is None:
        return f"{log.tp} has no position: no run has read it yet, the connector's main DAG will"
    metadata = position.metadata_fields
    if metadata.cluster_id != cluster_id:
        return (
            f"the position of {log.tp} belongs to cluster {metadata.cluster_id!r}, but this is cluster {cluster_id!r}: check "
            "the Kafka connection"
        )
    if metadata.topic_id != log.topic_id:
        return (
            f"topic {topic!r} was re-created: its id is {log.topic_id!r}, and the records that were read had the id "
            f"{metadata.topic_id!r}. Nothing was read. Run the connector's main DAG, which tells how to read the new topic"
        )
    if position.offset > log.stable_end:
        return (
            f"the position {position.offset} of {log.tp} is past its last stable offset {log.stable_end}: the broker lost "
            "records. Nothing was read. Run the connector's main DAG, which tells how to continue"
        )
    return None


def _truncated(log: PartitionLog, end: int, divergence: int | None) -> str | None:
    if divergence is None or end <= divergence:
        return None
    return (
        f"the log of {log.tp} was truncated at offset {divergence} and written again: the records from there on are not "
        "those that were read. Nothing was read. Run the connector's main DAG, which tells how to continue, or end the "
        f"range at {divergence} at most"
    )


def _misplaced(log: PartitionLog, position: Position, start: int, end: int) -> str | None:
    where = f"[{start}, {end}) of {log.tp}"
    if end > position.offset:
        return (
            f"{where} ends past the position {position.offset}: those records will be read by the connector's main DAG. "
            f"End it at {position.offset} at most"
        )
    if start < log.log_start:
        return (
            f"{where} begins below the log start {log.log_start}: retention removed those records; begin it at "
            f"{log.log_start} at least"
        )
    if start >= end:
        return f"{where} is empty: the log begins at {log.log_start}, and it was read up to {position.offset}"
    return None


def _marked(window: Bounds, mark: Bounds, log: PartitionLog, position: Position) -> Bounds:
    """Cut a window at what was read: the caller names times, not the position, and no record is skipped by it."""
    start, end = (
        position.offset if wanted is not None and found is None else found
        for wanted, found in zip(window, mark, strict=True)
    )
    start = log.log_start if start is None else max(start, log.log_start)
    return start, position.offset if end is None else min(end, position.offset)


def _nothing(request: ReplayRequest, positions: Mapping[int, Position]) -> str:
    read = ", ".join(f"{p} up to {position.offset}" for p, position in sorted(positions.items())[:MAX_NAMED])
    if request.window is not None:
        start, end = (None if ms is None else _at(ms) for ms in request.window)
        return (
            f"no record that was read of topic {request.topic!r} has a time from {start or 'the log start'} to "
            f"{end or 'the position'} (partitions read: {read}): correct the times; newer records will be read by the "
            "connector's main DAG"
        )
    return f"topic {request.topic!r} has nothing to replay: the log has no offset that was read (partitions: {read})"


def _at(ms: int) -> str:
    return (EPOCH + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds")


# Planning a replacement: whether the tables show which rows are to be removed, and how many those are.


def check_not_compacted(source: Cluster, topic: str) -> None:
    """Raise PlanRefused for a topic whose records may be gone although later ones are there.

    Their rows would be removed, and nothing could restore them.
    """
    try:
        policy = source.cleanup_policy(topic)
    except KafkaMisconfigured as error:
        msg = (
            f"overlap=replace cannot check whether topic {topic!r} is compacted, and would then remove rows whose records "
            f"are deleted. Nothing was removed. Grant DescribeConfigs on it, or use overlap=skip or append ({error})"
        )
        raise PlanRefused(msg, code="FLOE-305") from error
    if "compact" in policy:
        msg = (
            f"topic {topic!r} is compacted (cleanup.policy={policy}), so older records of a key may already be deleted. "
            "Replacing the range would remove their rows permanently. Use overlap=skip or append, or replace from a topic "
            "that keeps all records"
        )
        raise PlanRefused(msg, code="FLOE-305")


@dataclass(frozen=True, slots=True)
class RemovalForecast:
    """How many rows a replacement removes from one table, by its metadata: exactly, or at most."""

    table: str
    rows: int
    is_exact: bool

    def to_json(self) -> dict[str, Any]:
        return {"table": self.table, "rows": self.rows, "exact": self.is_exact}

    def __str__(self) -> str:
        return f"{'' if self.is_exact else 'at most '}{self.rows}"


def forecast_removals(
    target: Connector, open_lake: Callable[[], Lake], plan: Plan, request: ReplayRequest, ranges: Sequence[OffsetRange]
) -> tuple[RemovalForecast, ...]:
    """Return what is removed from each table that does not refuse. Raises PlanRefused, and the refusal when all refuse."""
    if not request.tables:
        msg = (
            "overlap=replace needs `tables`, as the records name them: rows are removed from the tables that are named, "
            "even if the records are routed elsewhere now. Nothing was removed. Name the tables that have rows of the range"
        )
        raise PlanRefused(msg, code="FLOE-305")
    for name in request.tables:
        check_has_transform(name, target)
    found = open_lake().states(request.tables, must_exist=not target.creation.is_on)
    return tuple(of_takers(found, lambda state: _forecast(state, target, plan, ranges)).values())


def _forecast(state: TableState, target: Connector, plan: Plan, ranges: Sequence[OffsetRange]) -> RemovalForecast:
    if state.table is None:
        return RemovalForecast(state.name, 0, is_exact=True)
    remover = RowRemover(OriginColumns.of(state.table, target), ranges)
    check_no_shared_offsets(state.table, state.branch, plan.group_id, ranges)
    with file_access(state.name):
        remover.refuse_unknown(state.table, state.branch)
        return RemovalForecast(state.name, *remover.most(state.table, state.branch))
