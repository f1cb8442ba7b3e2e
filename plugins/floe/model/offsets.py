"""Offsets of Kafka: ranges, the identity of everything floe reads, writes and commits, and sets of intervals."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from sys import maxsize
from typing import Any, NamedTuple

# Ranges of Kafka offsets: the identity of everything floe reads, writes and commits.


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

    def split(self, count: int) -> Iterator[OffsetRange]:
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


# Sets of offsets of one partition, as sorted, disjoint half-open intervals.


Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Intervals:
    """Offsets as ``[start, end)`` spans, sorted, never touching each other."""

    spans: tuple[Span, ...] = ()

    @classmethod
    def of(cls, spans: Iterable[Sequence[int]]) -> Intervals:
        """Build from spans in any order; overlapping and touching ones are joined, empty ones left out."""
        joined: list[Span] = []
        for start, end in sorted((int(s), int(e)) for s, e in spans):
            if start >= end:
                continue
            if joined and start <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((start, end))
        return cls(tuple(joined))

    def __iter__(self) -> Iterator[Span]:
        return iter(self.spans)

    def __bool__(self) -> bool:
        return bool(self.spans)

    def __or__(self, other: Intervals) -> Intervals:
        return Intervals.of((*self.spans, *other.spans))

    def __and__(self, other: Intervals) -> Intervals:
        met: list[Span] = []
        a = b = 0  # both are sorted: one pass over the two
        while a < len(self.spans) and b < len(other.spans):
            (a_start, a_end), (b_start, b_end) = self.spans[a], other.spans[b]
            if a_start < b_end and b_start < a_end:
                met.append((max(a_start, b_start), min(a_end, b_end)))
            a, b = (a + 1, b) if a_end <= b_end else (a, b + 1)
        return Intervals(tuple(met))

    def __sub__(self, other: Intervals) -> Intervals:
        left: list[Span] = []
        first = 0
        for start, end in self.spans:
            while first < len(other.spans) and other.spans[first][1] <= start:
                first += 1
            at = first
            while at < len(other.spans) and other.spans[at][0] < end:
                gone_start, gone_end = other.spans[at]
                if start < gone_start:
                    left.append((start, gone_start))
                start = max(start, gone_end)
                at += 1
            if start < end:
                left.append((start, end))
        return Intervals(tuple(left))

    @property
    def offsets(self) -> int:
        """The number of offsets in this set. Not its length: ``list`` would allocate memory for as many spans."""
        return sum(end - start for start, end in self.spans)

    def has(self, offset: int) -> bool:
        """Say whether one offset is in this set."""
        at = bisect_right(self.spans, (offset, maxsize)) - 1
        return at >= 0 and offset < self.spans[at][1]

    def covers(self, other: Intervals) -> bool:
        """Say whether every offset of ``other`` is in this set."""
        return not other - self
