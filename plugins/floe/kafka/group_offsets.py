"""Moving positions: fence, read, decide, and send them with their events in one transaction."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from floe.config import Connector
from floe.kafka.admin import Cluster
from floe.kafka.exceptions import PositionFull
from floe.kafka.settings import KafkaSettings
from floe.kafka.transactions import ControlRecord, TransactionalProducer
from floe.model.plan import Plan
from floe.model.positions import MAX_METADATA_LENGTH, Position
from floe.model.ranges import TopicPartition


class Move(NamedTuple):
    """The contents of a transaction: events for the control topic, and positions."""

    records: Sequence[ControlRecord]
    positions: Sequence[Position]


def commit_transactional_id(connector: Connector) -> str:
    """Name the producer that writes positions; opening it fences all earlier ones."""
    return f"{connector.committing.transactional_prefix}floe-{connector.name}-commit"


def replay_transactional_id(connector: Connector, plan: Plan) -> str:
    """Name the producer of a replay's own events; its slices' announcements have ids of their own."""
    return f"{connector.committing.transactional_prefix}floe-{connector.name}-replay-{plan.plan_id}"


def writer_of_positions(connector: Connector, settings: KafkaSettings) -> TransactionalProducer:
    """Return the producer that writes positions, on its way to the brokers.

    When it fences, it aborts open transactions of earlier ones, which would hide positions.
    """
    return TransactionalProducer.connecting(settings, commit_transactional_id(connector))


def move_positions(
    connector: Connector,
    settings: KafkaSettings,
    partitions: Sequence[TopicPartition],
    decide: Callable[[Mapping[TopicPartition, Position]], Move | None],
    producer: TransactionalProducer | None = None,
) -> bool:
    """Send positions and events in one fenced transaction. Return whether there was something to do.

    ``producer``: an earlier one; a new one otherwise. It fences here if it has not yet.

    ``decide`` gets the stable positions of ``partitions``, as found after fencing, and returns what to send, or None
    when nothing is left to do; it raises when the positions are not those that the caller expects. Raises GroupInUse,
    Fenced, PositionFull and the transaction's errors.
    """
    producer = producer or writer_of_positions(connector, settings)
    producer.fence()
    cluster = Cluster.of_control(settings)
    cluster.check_no_members(connector.group_id)
    move = decide(cluster.positions(connector.group_id, partitions))
    if move is None:
        return False
    for position in move.positions:
        if len(position.metadata.encode()) > MAX_METADATA_LENGTH:
            msg = (
                f"{len(position.backlogs)} tables are behind on {position.tp}. Their offsets need "
                f"{len(position.metadata.encode())} bytes of commit metadata, but the broker allows {MAX_METADATA_LENGTH}, "
                "so no offset was committed. Fix the tables listed above, or drop the backlog of some with the parameter "
                "`drop_backlog`, then run again."
            )
            raise PositionFull(msg)
    if move.records or move.positions:
        producer.send(connector.control_topic, connector.group_id, move.records, move.positions, connector.group_id)
    return True
