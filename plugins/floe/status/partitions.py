"""Partitions and backlogs, from what the brokers say of logs and of the group's offsets. Nothing is asked here."""

from collections.abc import Iterable, Mapping

from floe.config import Connector
from floe.config.secrets.mask import clip
from floe.model.intervals import Intervals
from floe.model.positions import Position, PositionMetadata, owner_of
from floe.model.ranges import PartitionLog, TopicPartition
from floe.status.model import Backlog, PartitionStatus

_SHOWN_CHARACTERS = 80


def partition_statuses(
    connector: Connector, logs: Iterable[PartitionLog], positions: Mapping[TopicPartition, Position]
) -> tuple[PartitionStatus, ...]:
    """Return the status of each partition, in the order of ``logs``."""
    return tuple(_status(connector, log, positions.get(log.tp)) for log in logs)


def backlogs(positions: Iterable[Position]) -> tuple[Backlog, ...]:
    """Return what each table is behind on, by table and partition."""
    found = [
        Backlog(table, position.tp.topic, position.tp.partition, backlog.start, position.offset)
        for position in positions
        for table, backlog in position.backlogs.items()
    ]
    return tuple(sorted(found, key=lambda one: (one.table, one.tp)))


def _status(connector: Connector, log: PartitionLog, position: Position | None) -> PartitionStatus:
    tp, start, end = log.tp, log.log_start, log.stable_end
    if position is None:
        unread = 0 if connector.offset_reset == "latest" else end - start
        return PartitionStatus(*tp, None, start, end, unread)
    metadata = PositionMetadata.decode(position.metadata)
    is_of_this_log = metadata is None or metadata.topic_id == log.topic_id
    gone = Intervals.of([(position.offset, start)]) if is_of_this_log else Intervals()
    lost = gone | metadata.lost if metadata is not None else gone
    lag = max(0, end - max(position.offset, start)) if is_of_this_log else end - start
    problem = _problem(connector, log, position, metadata)
    return PartitionStatus(*tp, position.offset, start, end, lag, lost, problem)


def _problem(
    connector: Connector, log: PartitionLog, position: Position, metadata: PositionMetadata | None
) -> str | None:
    """Return what the next plan would refuse about a partition; None for nothing."""
    if metadata is None:
        text = clip(position.metadata, _SHOWN_CHARACTERS)
        return f"the committed offset {position.offset} was written by another program: its metadata is {text!r}"
    if metadata.owner not in ("", owner_of(connector.name)):
        return f"the committed offset belongs to connector {clip(metadata.owner, _SHOWN_CHARACTERS)!r}"
    if metadata.topic_id != log.topic_id:
        return f"the topic was deleted and created again: the committed offset {position.offset} is of the former one"
    if position.offset > log.stable_end:
        return f"the committed offset {position.offset} is above the log end {log.stable_end}"
    if position.offset < log.log_start:
        return f"offsets {position.offset} to {log.log_start} were deleted before they were read"
    return None
