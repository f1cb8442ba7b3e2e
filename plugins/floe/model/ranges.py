"""Ranges of Kafka offsets: the identity of everything floe reads, writes and commits."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple


class TopicPartition(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """``[start, end)`` of one partition of one incarnation of a topic.

    ``topic_id`` is Kafka's own (KIP-516): a topic deleted and created again under its old name has another.
    """

    topic: str
    topic_id: str
    partition: int
    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            msg = f"a range must satisfy 0 <= start <= end, not [{self.start}, {self.end}) of {self.tp}"
            raise ValueError(msg)

    def __len__(self) -> int:
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.tp}[{self.start}, {self.end})"

    @property
    def tp(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def split(self, count: int) -> Iterator["OffsetRange"]:
        """Cut the range into at most ``count`` ranges of nearly equal length, in order."""
        count = max(1, min(count, len(self)))
        for i in range(count):
            start = self.start + len(self) * i // count
            end = self.start + len(self) * (i + 1) // count
            yield OffsetRange(self.topic, self.topic_id, self.partition, start, end)


def ranges_to_json(ranges: Iterable[OffsetRange]) -> dict[str, Any]:
    """Group ranges by topic: ``{topic: {"id": topic id, "ranges": [[partition, start, end], …]}}``."""
    topics: dict[str, Any] = {}
    for r in ranges:
        entry = topics.setdefault(r.topic, {"id": r.topic_id, "ranges": []})
        if entry["id"] != r.topic_id:
            msg = f"two incarnations of topic {r.topic!r} in one set of ranges: {entry['id']!r} and {r.topic_id!r}"
            raise ValueError(msg)
        entry["ranges"].append([r.partition, r.start, r.end])
    return topics


def ranges_from_json(topics: dict[str, Any]) -> tuple[OffsetRange, ...]:
    """Read what :func:`ranges_to_json` wrote."""
    return tuple(
        OffsetRange(topic, str(entry["id"]), int(partition), int(start), int(end))
        for topic, entry in topics.items()
        for partition, start, end in entry["ranges"]
    )


@dataclass(frozen=True, slots=True)
class PartitionLog:
    """The broker's state of one partition: ``log_start`` and ``stable_end`` (last stable offset).

    ``epoch``: the leader epoch in which it was asked for; None where the broker did not say it.
    """

    tp: TopicPartition
    topic_id: str
    log_start: int
    stable_end: int
    epoch: int | None = None
