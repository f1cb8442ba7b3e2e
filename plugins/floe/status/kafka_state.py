"""What the brokers know of a connector: its logs, and its group's offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from floe.config import Connector
from floe.config.secrets.mask import clip
from floe.config.sections.topics import matching_topics
from floe.kafka.admin import Cluster
from floe.kafka.settings import KafkaSettings
from floe.model.offsets import Intervals, PartitionLog, TopicPartition
from floe.model.positions import Position, PositionMetadata, owner_of
from floe.status.connector_status import Backlog, ConnectorStatus, PartitionStatus


class KafkaState(NamedTuple):
    """Logs of the topics that exist, the names of those that do not, and the committed offsets of the group."""

    logs: tuple[PartitionLog, ...]
    missing: tuple[str, ...]
    positions: Mapping[TopicPartition, Position]

    @classmethod
    def of(cls, connector: Connector, settings: KafkaSettings) -> KafkaState:
        """Ask the brokers; nothing is written. Raises the errors of ``floe.kafka``.

        It is asked in every run, so each thing once: a partition whose first offset is in an open transaction has none yet.
        """
        source = Cluster.of_source(settings)
        control = source if settings.control == settings.source else Cluster.of_control(settings)
        topics = _topics(connector, source)
        descriptions = source.topics(topics)
        missing = tuple(topic for topic in topics if topic not in descriptions)
        return cls(source.logs(list(descriptions), descriptions), missing, control.positions(connector.group_id))

    def status(self, connector: Connector) -> ConnectorStatus:
        """Return the status of the connector without its tables."""
        return ConnectorStatus(
            connector.name,
            connector.group_id,
            datetime.now(UTC),
            partitions=partition_statuses(connector, self.logs, self.positions),
            backlog=backlogs(self.positions.values()),
            problems=tuple(f"topic {topic!r} does not exist" for topic in self.missing),
        )


def _topics(connector: Connector, source: Cluster) -> Sequence[str]:
    if connector.topics or connector.topics_regex is None:
        return connector.topics
    return matching_topics(connector, source.topic_names())


# Partitions and backlogs, from what the brokers say of logs and of the group's offsets. Nothing is asked here.


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
