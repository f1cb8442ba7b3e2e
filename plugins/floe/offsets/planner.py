"""The planner: from positions and log ends to frozen ranges, or to a refusal that says what to do."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from floe.offsets.exceptions import PlanRefused
from floe.offsets.position import Position, PositionMetadata
from floe.offsets.ranges import OffsetRange, TopicPartition


@dataclass(frozen=True, slots=True)
class PartitionLog:
    """What the broker says of one partition: ``log_start`` and ``stable_end`` (last stable offset)."""

    tp: TopicPartition
    topic_id: str
    log_start: int
    stable_end: int


@dataclass(frozen=True, slots=True)
class Beginnings:
    """What decides where partitions without a position begin.

    ``held_ids``: the ids of a topic's incarnations that the connector's tables hold offsets of, None where the topic is
    new to them; asked once for each topic of which no partition has a position.
    """

    cluster_id: str
    offset_reset: Literal["earliest", "latest"]
    routing: Mapping[str, str]
    held_ids: Callable[[str], frozenset[str] | None]


def settle_positions(
    logs: Sequence[PartitionLog], found: Mapping[TopicPartition, Position], beginnings: Beginnings
) -> tuple[Position, ...]:
    """Return one checked position per partition, with present metadata.

    Raises PlanRefused for all that cannot be read on safely: a foreign or impossible position, lost or vanished
    offsets, another cluster, another incarnation of a topic.
    """
    _refuse_vanished(logs, found)
    # asking opens tables: once per topic, not per partition
    beginnings = replace(beginnings, held_ids=cache(beginnings.held_ids))
    known_topics = {tp.topic for tp in found}
    settled = []
    for log in logs:
        position = found.get(log.tp)
        if position is not None:
            settled.append(_carried_on(log, position, beginnings))
        elif log.tp.topic in known_topics:
            settled.append(_begun(log, log.log_start, beginnings))
        else:
            settled.append(_begun(log, _first_offset(log, beginnings), beginnings))
    return tuple(settled)


def _refuse_vanished(logs: Sequence[PartitionLog], found: Mapping[TopicPartition, Position]) -> None:
    present = {log.tp for log in logs}
    topics = {tp.topic for tp in present}
    vanished = sorted(tp for tp in found if tp.topic in topics and tp not in present)
    if vanished:
        msg = (
            f"partition {vanished[0]} has a position ({found[vanished[0]].offset}) but does not exist any more: the "
            "topic was re-created with fewer partitions. Give the connector a new name to read the new topic from its "
            "start."
        )
        raise PlanRefused(msg)


def _first_offset(log: PartitionLog, beginnings: Beginnings) -> int:
    held = beginnings.held_ids(log.tp.topic)
    if held and log.topic_id not in held:
        raise PlanRefused(_recreated(log, ", ".join(sorted(held))))
    if held is not None:
        msg = (
            f"no partition of topic {log.tp.topic!r} has a position, but a table of this connector already holds "
            "offsets of its group: the positions were lost. Nothing is read before they are put back, metadata and all, "
            "from the property floe.ledger.* of the table (docs/how-it-works.md shows how)."
        )
        raise PlanRefused(msg)
    return log.log_start if beginnings.offset_reset == "earliest" else log.stable_end


def _recreated(log: PartitionLog, known: str) -> str:
    return (
        f"topic {log.tp.topic!r} was re-created: its id is {log.topic_id!r}, what was read belongs to {known!r}. Give the "
        "connector a new name to read the new topic from its start."
    )


def _begun(log: PartitionLog, offset: int, beginnings: Beginnings) -> Position:
    metadata = PositionMetadata(beginnings.routing[log.tp.topic], offset, log.topic_id, beginnings.cluster_id)
    return Position(log.tp, offset, metadata.encode())


def _carried_on(log: PartitionLog, position: Position, beginnings: Beginnings) -> Position:
    metadata = PositionMetadata.decode(position.metadata)
    if metadata is None:
        msg = (
            f"the position {position.offset} of {log.tp} was not written by floe (metadata {position.metadata[:80]!r}): "
            "somebody else commits offsets for this group. Stop it; then put the position back, metadata and all, from the "
            "property floe.ledger.* of the table (docs/how-it-works.md shows how)."
        )
        raise PlanRefused(msg)
    _refuse_other_incarnation(log, metadata, beginnings.cluster_id)
    if position.offset < log.log_start:
        msg = (
            f"{log.tp} lost the offsets [{position.offset}, {log.log_start}): retention removed them before they were "
            "read (floe.on-data-loss = fail). Restore them, or move the position to the log start, knowing what is "
            "lost (docs/how-it-works.md shows how)."
        )
        raise PlanRefused(msg)
    if position.offset > log.stable_end:
        msg = (
            f"the position {position.offset} of {log.tp} is past its last stable offset {log.stable_end}: the broker lost "
            "records that were already read, or the position was changed by hand. Nothing is read until it is mended."
        )
        raise PlanRefused(msg)
    routing = beginnings.routing[log.tp.topic]
    if metadata.routing != routing:
        metadata = PositionMetadata(routing, position.offset, metadata.topic_id, metadata.cluster_id)
    return Position(log.tp, position.offset, metadata.encode())


def _refuse_other_incarnation(log: PartitionLog, metadata: PositionMetadata, cluster_id: str) -> None:
    if metadata.cluster_id != cluster_id:
        msg = (
            f"the position of {log.tp} belongs to cluster {metadata.cluster_id!r}, but this is cluster {cluster_id!r}: "
            "check the Kafka connection; for a new cluster give the connector a new name."
        )
        raise PlanRefused(msg)
    if metadata.topic_id != log.topic_id:
        raise PlanRefused(_recreated(log, metadata.topic_id))


def allocate(positions: Iterable[Position], logs: Sequence[PartitionLog], limit: int | None) -> tuple[OffsetRange, ...]:
    """Give each partition its fair share of at most ``limit`` offsets; only partitions with something new appear.

    A partition with less than its share leaves the rest to the others, so that one hot partition cannot starve them.
    """
    log_of = {log.tp: log for log in logs}
    lags = {p.tp: log_of[p.tp].stable_end - p.offset for p in positions}
    shares = fair_shares(lags, limit)
    return tuple(
        OffsetRange(p.tp.topic, log_of[p.tp].topic_id, p.tp.partition, p.offset, p.offset + shares[p.tp])
        for p in positions
        if shares[p.tp] > 0
    )


def fair_shares(lags: Mapping[TopicPartition, int], limit: int | None) -> dict[TopicPartition, int]:
    """Cut ``limit`` into shares by max-min fairness, in whole offsets; without a limit everyone gets all."""
    if limit is None or sum(lags.values()) <= limit:
        return dict(lags)
    shares: dict[TopicPartition, int] = {}
    left = limit
    waiting = sorted(lags, key=lambda tp: (lags[tp], tp))
    for i, tp in enumerate(waiting):
        shares[tp] = min(lags[tp], left // (len(waiting) - i))
        left -= shares[tp]
    return shares
