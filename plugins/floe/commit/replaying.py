"""Making the plan of a replay: admin calls, table loads, pure decisions, and the event that opens it."""

import secrets
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from floe.catalogs.catalog import Tables
from floe.commit.committer import replay_transactional_id
from floe.commit.table import ledger_of, refuse_unseeded
from floe.config import Connector, override
from floe.control.codec import encode
from floe.control.events import Event, StartCommit
from floe.control.headers import header_list
from floe.control.log import control_ends
from floe.kafka.cluster import Cluster
from floe.kafka.settings import KafkaSettings
from floe.kafka.transaction import ControlRecord, TransactionalProducer
from floe.offsets.cutting import Forecast, Nets, cut, forecast, net_of
from floe.offsets.ledger import Ledger
from floe.offsets.plan import Plan, Slice
from floe.offsets.ranges import OffsetRange, TopicPartition
from floe.offsets.replay import Bounds, Overlap, ReplayRequest
from floe.offsets.resolving import Ground, refuse_debts, resolve
from floe.offsets.routing import MAIN_BRANCH, route_hash

BRANCH_KEY = "iceberg.tables.default-commit-branch"


@dataclass(frozen=True)
class Replay:
    """The plan of a replay, without slices when there is nothing to write, and what it means for each table."""

    plan: Plan
    forecasts: tuple[Forecast, ...]
    request: ReplayRequest
    branch: str

    def to_json(self) -> dict[str, Any]:
        """Return what a dry run tells, in offsets."""
        return {
            "topic": self.request.topic,
            "overlap": self.request.overlap.value,
            "branch": self.branch,
            "slices": len(self.plan.slices),
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

    A missing control topic is created when there is something to replay, though not on a dry run. Raises PlanRefused
    for what was not read before, is gone, or comes by the connector's own DAG, ConfigError for a branch that cannot be,
    TableRefused, and the errors of ``floe.kafka`` and ``floe.catalogs``.
    """
    request = ReplayRequest.of(params, connector.topics, connector.tables, connector.max_records_per_run)
    target = override(connector, {BRANCH_KEY: params["branch"]}) if params.get("branch") else connector
    source, control = Cluster.of_source(settings), Cluster.of_control(settings)
    control.refuse_members(connector.group_id)
    logs = source.logs([request.topic])
    tps = [log.tp for log in logs]
    positions = control.positions(connector.group_id, tps)
    cluster_id = source.cluster_id()
    ranges = resolve(request, Ground(cluster_id, logs, positions, _marks(source, tps, request.window)))
    if target.commit_branch == connector.commit_branch:
        refuse_debts(ranges, positions, request.tables)
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
    )
    nets = _nets(target, empty, request, ranges)
    pieces = cut(ranges, list(nets.values()), request.max_records)
    slices = tuple(Slice(i, request.overlap.kind, piece, request.tables) for i, piece in enumerate(pieces))
    ends = _control_ends(control, connector.control_topic) if slices and not dry_run else {}
    return Replay(
        plan=replace(empty, slices=slices, control_ends=ends),
        forecasts=forecast(ranges, pieces, nets),
        request=request,
        branch=target.commit_branch or MAIN_BRANCH,
    )


def open_replay(plan: Plan, connector: Connector, settings: KafkaSettings) -> None:
    """Send StartCommit by a producer of the replay's own, with no position. Repeating it is harmless."""
    producer = TransactionalProducer(settings, replay_transactional_id(connector, plan))
    headers = header_list(plan.slice_id(plan.slices[0]), plan.slices[0].kind.value)
    start = ControlRecord(encode(Event.of(plan.group_id, StartCommit(plan.commit_id))), headers)
    producer.send(plan.control_topic, plan.group_id, [start])


def replay_id() -> str:
    """Return a new id that is above those of earlier replays: a UUIDv7 (RFC 9562), as 32 hex digits."""
    bits = time.time_ns() // 1_000_000 << 80 | secrets.randbits(80)
    bits = bits & ~(0xF << 76) | 7 << 76
    bits = bits & ~(0x3 << 62) | 2 << 62
    return uuid.UUID(int=bits).hex


def _marks(source: Cluster, tps: Sequence[TopicPartition], window: Bounds | None) -> dict[TopicPartition, Bounds]:
    if window is None:
        return {}
    start, end = (dict.fromkeys(tps) if moment is None else source.offsets_at(tps, moment) for moment in window)
    return {tp: (start[tp], end[tp]) for tp in tps}


def _control_ends(control: Cluster, topic: str) -> dict[int, int]:
    """Return where announcements of a plan made now would begin; a missing control topic is created."""
    control.ensure_control_topic(topic)
    return control_ends(control, topic)


def _nets(connector: Connector, plan: Plan, request: ReplayRequest, ranges: Iterable[OffsetRange]) -> dict[str, Nets]:
    tables = Tables.of(connector)
    route = route_hash(request.topic, connector.commit_branch)
    ledgers = {name: _ledger(tables, name, connector, plan, request.overlap) for name in request.tables}
    return {name: net_of(name, ledger, tuple(ranges), route, request.overlap) for name, ledger in ledgers.items()}


def _ledger(tables: Tables, name: str, connector: Connector, plan: Plan, overlap: Overlap) -> Ledger | None:
    table = tables.load(name) if connector.auto_create else tables.require(name)
    if table is None:
        return None
    branch = connector.commit_branch or MAIN_BRANCH
    ledger = ledger_of(table, branch, plan)
    if overlap is Overlap.SKIP:
        refuse_unseeded(table, branch, plan, ledger)
    return ledger
