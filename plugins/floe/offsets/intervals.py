"""Sets of offsets of one partition, as sorted, disjoint half-open intervals."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from sys import maxsize

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Intervals:
    """Offsets as ``[start, end)`` spans, sorted, never touching each other."""

    spans: tuple[Span, ...] = ()

    @classmethod
    def of(cls, spans: Iterable[Sequence[int]]) -> "Intervals":
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

    def __or__(self, other: "Intervals") -> "Intervals":
        return Intervals.of((*self.spans, *other.spans))

    def __and__(self, other: "Intervals") -> "Intervals":
        met = (
            (max(a_start, b_start), min(a_end, b_end))
            for a_start, a_end in self.spans
            for b_start, b_end in other.spans
            if a_start < b_end and b_start < a_end
        )
        return Intervals.of(met)

    def __sub__(self, other: "Intervals") -> "Intervals":
        left: list[Span] = []
        for start, end in self.spans:
            for gone_start, gone_end in other.spans:
                if gone_end <= start or gone_start >= end:
                    continue
                if start < gone_start:
                    left.append((start, gone_start))
                start = max(start, gone_end)
            if start < end:
                left.append((start, end))
        return Intervals.of(left)

    @property
    def offsets(self) -> int:
        """How many offsets are in this set. Not its length: ``list`` would set aside room for as many spans."""
        return sum(end - start for start, end in self.spans)

    def has(self, offset: int) -> bool:
        """Say whether one offset is in this set."""
        at = bisect_right(self.spans, (offset, maxsize)) - 1
        return at >= 0 and offset < self.spans[at][1]

    def covers(self, other: "Intervals") -> bool:
        """Say whether every offset of ``other`` is in this set."""
        return not other - self
