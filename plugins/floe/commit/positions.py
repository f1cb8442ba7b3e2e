"""Moving positions: fence, look, compare, and send them with their events in one transaction."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from floe.config import Connector
from floe.kafka.cluster import Cluster
from floe.kafka.settings import KafkaSettings
from floe.kafka.transaction import ControlRecord, TransactionalProducer
from floe.offsets.position import Position
from floe.offsets.ranges import TopicPartition

T = TypeVar("T")


def commit_transactional_id(connector: Connector) -> str:
    """Name the producer that writes positions; whoever uses it fences all others."""
    return f"{connector.transactional_prefix}floe-{connector.name}-commit"


def never_back(positions: Iterable[Position], found: Mapping[TopicPartition, Position]) -> list[Position]:
    """Leave out positions that are behind what the group has: another run moved them on."""
    return [p for p in positions if p.tp not in found or found[p.tp].offset <= p.offset]


def move_positions(
    connector: Connector,
    settings: KafkaSettings,
    positions: Sequence[Position],
    compare: Callable[[Mapping[TopicPartition, Position]], Sequence[ControlRecord] | None],
) -> bool:
    """Send positions and events in one fenced transaction, and say whether it was sent.

    ``compare`` gets the stable positions found after fencing and returns the events to send, or None when there is
    nothing left to do; it raises when the positions are not those that the caller counts on. Raises GroupInUse, Fenced
    and what the transaction raises.
    """
    producer = TransactionalProducer(settings, commit_transactional_id(connector))
    cluster = Cluster.of_control(settings)
    cluster.refuse_members(connector.group_id)
    found = cluster.positions(connector.group_id, [p.tp for p in positions])
    records = compare(found)
    if records is None:
        return False
    forward = never_back(positions, found)
    if records or forward:
        producer.send(connector.control_topic, connector.group_id, records, forward, connector.group_id)
    return True
