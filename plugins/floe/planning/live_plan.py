"""Making a plan: admin calls, pure decisions, and the transaction that opens it."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from floe.config import Connector
from floe.control.headers import DECISIONS, header_list
from floe.control.signature import signed
from floe.control.topic_reader import control_ends
from floe.control.wire.codec import encode
from floe.control.wire.events import Event, StartCommit
from floe.crash_points import CrashPoint, reach
from floe.kafka.access import left_out
from floe.kafka.admin import Cluster
from floe.kafka.settings import KafkaSettings
from floe.kafka.transactions import ControlRecord, Move, TransactionalProducer, move_positions
from floe.kafka.truncation import divergences, epochs_of
from floe.model.decisions import ALL, Decisions, DroppedTable, Rollback
from floe.model.exceptions import PlanRefused, Superseded
from floe.model.offsets import PartitionLog, TopicPartition
from floe.model.plan import Plan
from floe.model.plan_progress import Progress, progress
from floe.model.plan_seal import DeploymentKey, PlanKey
from floe.model.positions import Position, PositionMetadata, check_owner, owner_of
from floe.planning.dropped_tables import Commits, dropped_tables, refilled_from
from floe.planning.refusing_tables import check_one_takes
from floe.planning.slicing import cut_slices, with_epochs
from floe.planning.start_positions import OffsetsLost, resolve_start_positions
from floe.planning.wanted_offsets import ResolvedPositions, StartPolicy, check_combination, wanted_offsets
from floe.recovery.apply_decisions import DecisionApplier
from floe.recovery.rollback import rolled_back
from floe.tables.connector_ledgers import Ledgers, check_no_rows_of_sink

log = logging.getLogger(__name__)


def draft_plan(
    connector: Connector,
    settings: KafkaSettings,
    max_records: int | None = None,
    *,
    dry_run: bool = False,
    decisions: Decisions | None = None,
    deployment: DeploymentKey | None = None,
) -> Plan:
    """Freeze what the next run reads. Nothing is written, but a missing control topic is created (not on a dry run).

    ``max_records``: offsets of a slice at most, over ``floe.max-records-per-run``. ``decisions``: the recovery options for
    what would be refused. ``deployment``: its key, by which commits in the control topic are signed. Raises PlanRefused,
    where no table takes rows its refusal, and the errors of ``floe.kafka`` and ``floe.catalogs``.
    """
    decided = _completed(decisions or Decisions(), connector)
    source, control = Cluster.of_source(settings), Cluster.of_control(settings)
    if not dry_run:
        control.ensure_control_topic(connector.control_topic)
    kafka = _look_up(connector, settings, source, control, with_control=not dry_run)
    check_no_backlog_elsewhere(connector, kafka.of_group)
    check_dropped_backlogs(connector, kafka.of_group, decided)
    check_accepted_losses(decided, kafka.logs)
    ledgers = Ledgers(connector)
    if decided.dropped_tables or kafka.has_work:
        dropped = dropped_tables(ledgers, connector, Commits(settings, control, deployment), decided)
        decided = replace(decided, dropped_tables=dropped)
    start_policy = _start_policy(connector, source, ledgers, decided, kafka)
    start_policy = replace(start_policy, divergences=_divergences(settings, start_policy, kafka, decided))
    if not kafka.positions or decided.recover:
        check_no_rows_of_sink(ledgers, connector)
    resolved = _resolved(kafka, start_policy, decided)
    limit = max_records if max_records is not None else connector.reading.max_records
    on_record = replace(decisions or Decisions(), dropped_tables=decided.dropped_tables)
    slices = cut_slices(resolved.positions, kafka.logs, connector.tables, limit)
    plan = Plan(
        plan_id=uuid.uuid4().hex,
        connector=connector.name,
        group_id=connector.group_id,
        cluster_id=start_policy.cluster_id,
        config=connector.frozen(),
        control_topic=connector.control_topic,
        control_ends=kafka.control_ends,
        positions=with_epochs(resolved.positions, kafka.logs, slices),
        slices=slices,
        replaced=resolved.replaced,
        cuts=resolved.cuts,
        decisions=_on_record(on_record, [*without_rows(decided), *resolved.notes]),
        anchors=_anchors(ledgers, decided),
        tables=ledgers.uuids if not connector.routing.is_dynamic else {},
        left_out=kafka.left_out,
        code=connector.code,
    )
    check_one_takes(plan, ledgers, connector)
    return plan


@dataclass(frozen=True)
class _KafkaState:
    """What a plan is made from, as Kafka has it.

    ``logs``: of the topics that the client may read; ``left_out``: the others. ``of_group``: the group's positions, of topics
    that the connector does not read too. ``control_ends``: where the control topic ends, if that was asked.
    """

    logs: Sequence[PartitionLog]
    of_group: Mapping[TopicPartition, Position]
    left_out: tuple[str, ...]
    control_ends: Mapping[int, int]

    @property
    def positions(self) -> dict[TopicPartition, Position]:
        """The positions of what is read."""
        topics = {log.tp.topic for log in self.logs}
        return {tp: position for tp, position in self.of_group.items() if tp.topic in topics}

    @property
    def has_work(self) -> bool:
        """Whether there is something to read: an idle run looks up no tables."""
        positions = self.positions
        found = [(log, positions.get(log.tp)) for log in self.logs]
        return any(p is None or p.offset < log.stable_end or p.backlogs for log, p in found)


def _look_up(
    connector: Connector, settings: KafkaSettings, source: Cluster, control: Cluster, *, with_control: bool
) -> _KafkaState:
    """Ask both clusters. Raises the errors of ``floe.kafka``: TopicsLeftOut where the client may read none of the topics."""
    ends = control_ends(control, connector.control_topic) if with_control else {}
    control.check_no_members(connector.group_id)
    described, denied = source.readable(connector.topics)
    topics = [topic for topic in connector.topics if topic not in denied]
    if not topics:
        raise left_out(denied, settings.source, settings.origin)
    logs = source.logs(topics, described)
    of_group = control.positions(connector.group_id) | control.positions(connector.group_id, [log.tp for log in logs])
    return _KafkaState(logs, of_group, tuple(sorted(denied)), ends)


def _start_policy(
    connector: Connector, source: Cluster, ledgers: Ledgers, decisions: Decisions, kafka: _KafkaState
) -> StartPolicy:
    """Return what decides where partitions begin."""
    logs, group_is_known = kafka.logs, bool(kafka.of_group)
    reopened = _reopened(ledgers, connector, decisions, {log.tp: log.topic_id for log in logs})
    for tp, starts in refilled_from(decisions.dropped_tables, logs).items():
        reopened.setdefault(tp, {}).update(starts)
    return StartPolicy(
        cluster_id=source.cluster_id(),
        owner=connector.name,
        offset_reset=connector.offset_reset,
        routing={topic: ledgers.routes.routing(topic) for topic in connector.topics},
        contained_ids=lambda topic: ledgers.contained_ids(topic, group_is_known=group_is_known),
        unreadable=lambda: ledgers.refused,
        copies=ledgers.newest_position,
        routes={
            (table, topic): ledgers.routes.route(topic, table)
            for table in tables_behind(connector, kafka.positions, decisions)
            for topic in connector.topics
        },
        reopened=reopened,
        keeps_limits=connector.reading.write_timeout_ms is not None,
        starts=wanted_offsets("start_at", decisions.start_at, logs, source.offsets_at),
        skips=wanted_offsets("skip_to", decisions.skip_to, logs, source.offsets_at),
    )


def _divergences(
    settings: KafkaSettings, start_policy: StartPolicy, kafka: _KafkaState, decisions: Decisions
) -> dict[TopicPartition, int]:
    """Return where logs are others than those that the positions, or the copies to be recovered, are of."""
    logs, positions = kafka.logs, kafka.positions
    found = dict(positions)
    if decisions.recover:
        copies = {one.tp: start_policy.copies(one) for one in logs if not _is_own(positions.get(one.tp), start_policy)}
        found |= {tp: copy for tp, copy in copies.items() if copy is not None}
    return divergences(settings, logs, epochs_of(logs, found, start_policy.cluster_id))


def _is_own(position: Position | None, start_policy: StartPolicy) -> bool:
    metadata = None if position is None else PositionMetadata.decode(position.metadata)
    return metadata is not None and metadata.owner in ("", owner_of(start_policy.owner))


def _completed(decisions: Decisions, connector: Connector) -> Decisions:
    """Add what the connector itself decides; refuse names that it does not have."""
    unknown_tables = sorted(decisions.rolled_back.keys() - set(connector.tables) - {connector.errors.table})
    if unknown_tables and not connector.routing.is_dynamic:
        msg = (
            f"rolled_back names {unknown_tables}, but the connector writes {list(connector.tables)}: correct the param"
        )
        raise PlanRefused(msg, code="FLOE-112")
    dead_letters = connector.errors.table
    if dead_letters is not None and decisions.rolled_back.get(dead_letters) is Rollback.REPLAY:
        msg = (
            f"the table of dead letters {dead_letters!r} gets no backlog: records are not read again for it. Nothing was "
            f'read. Continue without the lost rows: rolled_back={{"{dead_letters}": "accept"}}'
        )
        raise PlanRefused(msg, code="FLOE-112")
    check_dropped_tables(decisions, connector)
    check_combination(decisions)
    topics = sorted(decisions.reset_topics - set(connector.topics) - {"*"})
    if topics:
        msg = f"reset_topics names {topics}, but the connector reads {list(connector.topics)}: correct the param"
        raise PlanRefused(msg, code="FLOE-112")
    return replace(decisions, accept_loss=frozenset({ALL})) if connector.reading.on_data_loss == "accept" else decisions


def _resolved(kafka: _KafkaState, start_policy: StartPolicy, decisions: Decisions) -> ResolvedPositions:
    """Resolve the positions. Every range that is lost or was decided about is logged."""
    try:
        resolved = resolve_start_positions(kafka.logs, kafka.positions, start_policy, decisions)
    except OffsetsLost as error:
        for loss in error.losses:
            log.error("%s", loss)
        raise
    for note in resolved.notes:
        log.warning("%s", note)
    return resolved


def _anchors(ledgers: Ledgers, decisions: Decisions) -> dict[str, int]:
    """Return the anchor of each ledger that a decision will change: the decision holds for that state alone."""
    tables = set(decisions.rolled_back) if not decisions.reset_topics else set(ledgers.with_dead_letters)
    anchors = {table: known.ledger.anchor for table in sorted(tables) if (known := ledgers.of(table)) and known.ledger}
    return {table: anchor.snapshot_id for table, anchor in anchors.items() if anchor is not None}


def _reopened(
    ledgers: Ledgers, connector: Connector, decisions: Decisions, topic_ids: Mapping[TopicPartition, str]
) -> dict[TopicPartition, dict[str, int]]:
    """Return the first offset to read again, per partition and table, of what was rolled back of the present topics."""
    starts: dict[TopicPartition, dict[str, int]] = {}
    for table, how in decisions.rolled_back.items():
        known = ledgers.of(table)
        if how is not Rollback.REPLAY or known is None or known.ledger is None:
            continue
        lost = rolled_back(known.table, known.origin, connector.group_id, known.ledger)
        for log_id, gone in (lost or {}).items():
            if gone and log_id.topic not in connector.topics:
                msg = (
                    f"table {table!r} lost offsets of topic {log_id.topic!r}, which the connector does not read any more. "
                    'Nothing was read. Configure the topic for this run (params config={"topics": …}), or continue without '
                    f'those rows: rolled_back={{"{table}": "accept"}}'
                )
                raise PlanRefused(msg, code="FLOE-221")
            tp = TopicPartition(log_id.topic, log_id.partition)
            if gone and topic_ids.get(tp) == log_id.topic_id:
                starts.setdefault(tp, {})[table] = gone.spans[0][0]
    return starts


def _on_record(decisions: Decisions, notes: Sequence[str]) -> dict[str, Any]:
    """Return what was decided as JSON, for the plan and the control topic; empty if nothing was."""
    return decisions.to_json() | ({"notes": list(notes)} if notes else {})


def open_plan(
    plan: Plan,
    connector: Connector,
    settings: KafkaSettings,
    key: PlanKey | None,
    producer: TransactionalProducer | None = None,
) -> bool:
    """Send StartCommit and every partition's position in one fenced transaction; return whether there is work left.

    ``producer``: one that writes the connector's positions; a new one otherwise.

    Idle runs do so too: positions of a group without members expire unless they are written again. Decisions
    about tables are applied around it. Repeating all of it is harmless. Raises Superseded when another run moved the
    positions meanwhile, or changed the tables that a decision is about.
    """
    resolved: list[Position] = []
    replaced = frozenset(plan.replaced)

    def decide(found: Mapping[TopicPartition, Position]) -> Move | None:
        check_owner((p for p in found.values() if p not in replaced), plan.connector)
        resolved[:] = [p if found.get(p.tp) in replaced else _opened(p, found.get(p.tp)) for p in plan.positions]
        places = {p.tp: p for p in resolved}
        if plan.slices and all(progress(plan, s, places) is Progress.DONE for s in plan.slices):
            return None
        return Move(signed(key, _start(plan)), resolved)

    decided = DecisionApplier(plan, connector)
    decided.before_positions()
    reach(CrashPoint.PLAN_OPEN)
    opened = move_positions(connector, settings, [p.tp for p in plan.positions], decide, producer)
    reach(CrashPoint.PLAN_OPENED)
    decided.after_positions(resolved)
    return opened and bool(plan.slices)


def _opened(position: Position, found: Position | None) -> Position:
    """Return what is written for a partition: the plan's position, or the present one when a run of the plan moved it.

    Raises Superseded for one that another process moved back or wrote, or on other terms: going on would undo that.
    """
    if found is None or found == position:
        return position
    now, then = PositionMetadata.decode(found.metadata), position.metadata_fields
    is_behind = now is None or found.offset < position.offset or now.topic_id != then.topic_id
    if now is None or is_behind or (found.offset == position.offset and not _is_this_plans(now, then)):
        msg = (
            f"the position of {found.tp} was changed since the plan was made, to {found.offset} ({found.metadata[:80]!r}): "
            "another process moved it. No offset was committed; the next run plans from the present ones."
        )
        raise Superseded(msg)
    if found.offset > position.offset:
        return found
    epochs = [epoch for epoch in (now.epoch, then.epoch) if epoch is not None]
    return replace(found, metadata=replace(now, epoch=max(epochs, default=None)).encode())


def _is_this_plans(now: PositionMetadata, then: PositionMetadata) -> bool:
    """Return whether a position at the plan's own offset differs only by backlogs that its own slices have caught up since.

    It may also differ by limits: the plan's own write may have taken too long. And the plan's leader epoch may be a newer
    one; an older one shows that another plan was opened since.
    """
    if now.epoch is not None and then.epoch is not None and now.epoch.number > then.epoch.number:
        return False
    same = replace(now, backlogs={}, lost=then.lost, owner=then.owner, limits=then.limits, epoch=then.epoch)
    if same != replace(then, backlogs={}):
        return False
    return all(
        table in then.backlogs and then.backlogs[table].start <= backlog.start
        for table, backlog in now.backlogs.items()
    )


def _start(plan: Plan) -> list[ControlRecord]:
    if not plan.slices and not plan.decisions:
        return []
    kind = plan.slices[0].kind if plan.slices else "decision"
    more = {DECISIONS: dict(plan.decisions)} if plan.decisions else {}
    return [
        ControlRecord(
            encode(Event.of(plan.group_id, StartCommit(plan.commit_id))), header_list(f"{plan.plan_id}/0", kind, more)
        )
    ]


# Checks of an operator's decisions against the connector, its positions and its topics.


def without_rows(decisions: Decisions) -> list[str]:
    """Return a note for each table that goes on without the rows that it lost."""
    tables = [name for name, how in decisions.dropped_tables.items() if how is DroppedTable.CONTINUE]
    notes = [f"table {name!r} was dropped and continues without its earlier rows" for name in tables]
    for note in notes:
        log.warning("%s", note)
    return notes


def tables_behind(
    connector: Connector, positions: Mapping[TopicPartition, Position], decisions: Decisions
) -> Sequence[str]:
    """Return the tables that may be behind: the connector's; where records name them, those that are, or that lost rows."""
    if not connector.routing.is_dynamic:
        return connector.tables
    behind = {table for position in positions.values() for table in position.backlogs}
    return sorted(behind | decisions.rolled_back.keys() | decisions.dropped_tables.keys())


def check_dropped_tables(decisions: Decisions, connector: Connector) -> None:
    dead_letters = connector.errors.table
    unknown = sorted(decisions.dropped_tables.keys() - set(connector.tables) - {dead_letters})
    if unknown and not connector.routing.is_dynamic:
        msg = f"dropped_tables names {unknown}, but the connector writes {list(connector.tables)}: correct the param"
        raise PlanRefused(msg, code="FLOE-112")
    if dead_letters is not None and decisions.dropped_tables.get(dead_letters) is DroppedTable.REFILL:
        msg = (
            f"the dead-letter table {dead_letters!r} cannot be filled again: its records are not read a second time. "
            f'Continue without them: dropped_tables={{"{dead_letters}": "continue"}}, or replay the ranges that had dead '
            "letters"
        )
        raise PlanRefused(msg, code="FLOE-112")


def check_accepted_losses(decisions: Decisions, logs: Sequence[PartitionLog]) -> None:
    """Raise PlanRefused when a topic or partition that the connector does not read is named in ``accept_loss``."""
    known = {log.tp.topic for log in logs} | {str(log.tp) for log in logs} | {ALL}
    unknown = sorted(decisions.accept_loss - known)
    if unknown:
        topics = sorted({log.tp.topic for log in logs})
        msg = (
            f"accept_loss names {unknown}, but the connector reads the topics {topics}: name topics or their partitions, "
            f'as in ["{topics[0]}-0"], or true for all'
        )
        raise PlanRefused(msg, code="FLOE-112")


def check_no_backlog_elsewhere(connector: Connector, positions: Mapping[TopicPartition, Position]) -> None:
    """Raise PlanRefused for a backlog at a topic that the connector no longer reads: no run would ever load it."""
    for tp, position in sorted(positions.items()):
        if tp.topic not in connector.topics and position.backlogs:
            msg = (
                f"{sorted(position.backlogs)} are behind on {tp}, but the connector does not read {tp.topic!r} any more. "
                "Nothing was read. Configure the topic until they have caught up, or for one run that drops the backlog "
                '(params config={"topics": …} and drop_backlog).'
            )
            raise PlanRefused(msg, code="FLOE-221")


def check_dropped_backlogs(
    connector: Connector, positions: Mapping[TopicPartition, Position], decisions: Decisions
) -> None:
    """Raise PlanRefused when the backlog of an unknown table is to be dropped: a mistyped name drops nothing."""
    behind = {table for position in positions.values() for table in position.backlogs}
    unknown_tables = sorted(decisions.drop_backlog - set(connector.tables) - behind)
    if unknown_tables:
        msg = (
            f"drop_backlog names {unknown_tables}, but the connector writes {list(connector.tables)}: correct the param"
        )
        raise PlanRefused(msg, code="FLOE-112")
