"""Part of a range, read by one task."""

from dataclasses import dataclass

from floe.model.ranges import OffsetRange


@dataclass(frozen=True)
class RangePart:
    """Part of a range that one task reads. ``epoch``: the leader epoch in which its range was planned, if it is known."""

    range: OffsetRange
    start: int
    end: int
    epoch: int | None = None

    @property
    def offsets(self) -> OffsetRange:
        return OffsetRange(self.range.topic, self.range.topic_id, self.range.partition, self.start, self.end)
