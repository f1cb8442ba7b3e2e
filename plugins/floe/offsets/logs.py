"""Partitions' logs, as the brokers describe them."""

from dataclasses import dataclass

from floe.offsets.ranges import TopicPartition


@dataclass(frozen=True, slots=True)
class PartitionLog:
    """What the broker says of one partition: ``log_start`` and ``stable_end`` (last stable offset)."""

    tp: TopicPartition
    topic_id: str
    log_start: int
    stable_end: int
