"""Making the plan of a replay: admin calls, table loads, pure decisions, and the event that opens it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from floe.kafka.group_offsets import replay_transactional_id
from floe.kafka.settings import KafkaSettings
from floe.kafka.transactions import ControlRecord, TransactionalProducer
from floe.kafka.truncation import divergences, epochs_of
from floe.model.exceptions import PlanRefused
from floe.model.plan import Plan, Slice
from floe.model.plan_seal import PlanKey
from floe.model.positions import check_owner
from floe.model.ranges import TopicPartition
from floe.model.route_hash import MAIN_BRANCH
from floe.model.slice_kind import SliceKind
from floe.planning.dead_letter_replay import (
    DeadLetterForecast,
    dead_letter_ledgers,
    dead_letter_table,
    find_dead_letters,
)
from floe.planning.refusing_tables import table_offsets
from floe.planning.replace_preview import RemovalForecast, check_not_compacted, forecast_removals
from floe.planning.replay_ranges import ReplayContext, check_no_backlogs, resolve
from floe.planning.replay_request import Bounds, ReplayRequest
from floe.planning.slicing import Forecast, cut, forecast
from floe.tables.lake import Lake
from floe.tables.routes import EVERY_TABLE, Routes

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
