"""Partitions of one topic and their positions, in few words."""

from typing import Any

from floe.model.offsets import Intervals, OffsetRange, PartitionLog, TopicPartition
from floe.model.positions import PartitionBacklog, Position, PositionMetadata

TOPIC, TOPIC_ID, CLUSTER, ROUTING, ROUTE = "pizzas", "T1", "C1", "R", "r"


def log(
    partition: int = 0, start: int = 0, end: int = 100, topic: str = TOPIC, topic_id: str = TOPIC_ID
) -> PartitionLog:
    return PartitionLog(TopicPartition(topic, partition), topic_id, start, end)


def is_behind(**starts: int) -> dict[str, PartitionBacklog]:
    """Return the debts of tables, each from its start on."""
    return {table: PartitionBacklog(start, ROUTE) for table, start in starts.items()}


def position(offset: int, partition: int = 0, topic: str = TOPIC, **over: Any) -> Position:
    fields = {"routing": ROUTING, "since": 3, "topic_id": TOPIC_ID, "cluster_id": CLUSTER, **over}
    if "lost" in fields:
        fields["lost"] = Intervals.of([fields["lost"]] if isinstance(fields["lost"], tuple) else fields["lost"])
    return Position(TopicPartition(topic, partition), offset, PositionMetadata(**fields).encode())


def span(start: int, end: int, partition: int = 0, topic: str = TOPIC, topic_id: str = TOPIC_ID) -> OffsetRange:
    return OffsetRange(topic, topic_id, partition, start, end)


def found(*positions: Position) -> dict[TopicPartition, Position]:
    return {p.tp: p for p in positions}
