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
        met: list[Span] = []
        a = b = 0  # both are sorted: one pass over the two
        while a < len(self.spans) and b < len(other.spans):
            (a_start, a_end), (b_start, b_end) = self.spans[a], other.spans[b]
            if a_start < b_end and b_start < a_end:
                met.append((max(a_start, b_start), min(a_end, b_end)))
            a, b = (a + 1, b) if a_end <= b_end else (a, b + 1)
        return Intervals(tuple(met))

    def __sub__(self, other: "Intervals") -> "Intervals":
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

    def covers(self, other: "Intervals") -> bool:
        """Say whether every offset of ``other`` is in this set."""
        return not other - self
