"""What the brokers know of a connector: its logs, and its group's offsets."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from floe.config import Connector
from floe.config.sections.topics import matching_topics
from floe.kafka.admin import Cluster
from floe.kafka.settings import KafkaSettings
from floe.model.positions import Position
from floe.model.ranges import PartitionLog, TopicPartition
from floe.status.model import ConnectorStatus
from floe.status.partitions import backlogs, partition_statuses


class KafkaState(NamedTuple):
    """Logs of the topics that exist, the names of those that do not, and the committed offsets of the group."""

    logs: tuple[PartitionLog, ...]
    missing: tuple[str, ...]
    positions: Mapping[TopicPartition, Position]

    @classmethod
    def of(cls, connector: Connector, settings: KafkaSettings) -> "KafkaState":
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
