"""Dead letters by their offsets: which records are on record as bad, and for which table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from floe.model.holding import LogId
from floe.model.intervals import Intervals
from floe.model.ranges import OffsetRange, ranges_from_json, ranges_to_json

MAX_SPANS = 10_000
"""Of one plan's or one announcement's letters: they travel in headers and in the task state store."""

Entry = tuple[str | None, LogId, Intervals]


class DeadLetterKind(StrEnum):
    """What a row of the dead-letter table says of a letter; one is open while more rows say dead than resolved."""

    DEAD = "dead"
    """The record could not become a row."""
    RESOLVED = "resolved"
    """The record is a row by now, and the letter needs no more attention."""


@dataclass(frozen=True, slots=True)
class DeadLetterOffsets:
    """Offsets of letters, by the table that they were meant for, None before routing, and by log. None of them is empty."""

    by_table: Mapping[str | None, Mapping[LogId, Intervals]] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> "DeadLetterOffsets":
        """Build from entries in any order; several of one table and log are joined."""
        spans: dict[str | None, dict[LogId, list[tuple[int, int]]]] = {}
        for table, log_id, offsets in entries:
            if offsets:
                spans.setdefault(table, {}).setdefault(log_id, []).extend(offsets)
        return cls({t: {log_id: Intervals.of(s) for log_id, s in logs.items()} for t, logs in spans.items()})

    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries by table, those of none first, and by log."""
        for table in sorted(self.by_table, key=lambda name: (name is not None, name or "")):
            for log_id, offsets in sorted(self.by_table[table].items()):
                yield table, log_id, offsets

    def __bool__(self) -> bool:
        return bool(self.by_table)

    def __or__(self, other: "DeadLetterOffsets") -> "DeadLetterOffsets":
        return DeadLetterOffsets.of((*self, *other))

    def __and__(self, other: "DeadLetterOffsets") -> "DeadLetterOffsets":
        return DeadLetterOffsets.of(
            (table, log_id, offsets & other.at(table, log_id)) for table, log_id, offsets in self
        )

    def __sub__(self, other: "DeadLetterOffsets") -> "DeadLetterOffsets":
        return DeadLetterOffsets.of(
            (table, log_id, offsets - other.at(table, log_id)) for table, log_id, offsets in self
        )

    def at(self, table: str | None, log_id: LogId) -> Intervals:
        """Return the offsets of one table's letters in one log."""
        return self.by_table.get(table, {}).get(log_id, Intervals())

    def reaching(self, table: str, r: OffsetRange) -> Intervals:
        """Return the offsets of a range whose records may become rows of a table: its own letters, and those of none."""
        log_id = LogId.of(r)
        return (self.at(table, log_id) | self.at(None, log_id)) & Intervals(((r.start, r.end),))

    def within(self, ranges: Iterable[OffsetRange]) -> "DeadLetterOffsets":
        """Return those of some ranges."""
        wanted: dict[LogId, Intervals] = {}
        for r in ranges:
            wanted[LogId.of(r)] = wanted.get(LogId.of(r), Intervals()) | Intervals.of([(r.start, r.end)])
        return DeadLetterOffsets.of((t, log_id, o & wanted.get(log_id, Intervals())) for t, log_id, o in self)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that letters were meant for, in order."""
        return tuple(sorted(table for table in self.by_table if table is not None))

    @property
    def count(self) -> int:
        """How many letters there are."""
        return sum(offsets.offsets for _, _, offsets in self)

    @property
    def spans(self) -> int:
        """How many intervals it takes to name them."""
        return sum(len(offsets.spans) for _, _, offsets in self)

    def to_json(self) -> list[Any]:
        """Return ``[[table, ranges], …]``."""
        return [
            [
                table,
                ranges_to_json(
                    OffsetRange(*log_id, start, end)
                    for log_id, offsets in sorted(self.by_table[table].items())
                    for start, end in offsets
                ),
            ]
            for table in dict.fromkeys(table for table, _, _ in self)
        ]

    @classmethod
    def from_json(cls, fields: Sequence[Any]) -> "DeadLetterOffsets":
        """Read what :meth:`to_json` wrote."""
        return cls.of(
            (None if table is None else str(table), LogId.of(r), Intervals.of([(r.start, r.end)]))
            for table, ranges in fields
            for r in ranges_from_json(ranges)
        )
