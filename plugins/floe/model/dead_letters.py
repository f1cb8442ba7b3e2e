"""Dead letters by their offsets: which records are recorded as bad, and for which table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from floe.model.holding import LogId
from floe.model.offsets import Intervals, OffsetRange, ranges_from_json, ranges_to_json

MAX_SPANS = 10_000
"""Limit of one plan's or one announcement's dead letters: headers and the task state store contain them."""

Entry = tuple[str | None, LogId, Intervals]


class DeadLetterKind(StrEnum):
    """The kind of a row in the dead-letter table. A dead letter is open while it has more dead than resolved rows."""

    DEAD = "dead"
    """The record could not become a row."""
    RESOLVED = "resolved"
    """The record is a row now. The dead letter needs no further action."""


@dataclass(frozen=True, slots=True)
class DeadLetterOffsets:
    """Offsets of dead letters, by target table, None before routing, and by log. No entry is empty."""

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
        """Yield the entries by table, those without a table first, and by log."""
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
        """Return the offsets of one table's dead letters in one log."""
        return self.by_table.get(table, {}).get(log_id, Intervals())

    def reaching(self, table: str, r: OffsetRange) -> Intervals:
        """Return the offsets of a range whose records may become rows of a table: its dead letters, and those of no table."""
        log_id = LogId.of(r)
        return (self.at(table, log_id) | self.at(None, log_id)) & Intervals(((r.start, r.end),))

    def within(self, ranges: Iterable[OffsetRange]) -> "DeadLetterOffsets":
        """Return the dead letters within some ranges."""
        wanted: dict[LogId, Intervals] = {}
        for r in ranges:
            wanted[LogId.of(r)] = wanted.get(LogId.of(r), Intervals()) | Intervals.of([(r.start, r.end)])
        return DeadLetterOffsets.of((t, log_id, o & wanted.get(log_id, Intervals())) for t, log_id, o in self)

    @property
    def tables(self) -> tuple[str, ...]:
        """The target tables of the dead letters, in order."""
        return tuple(sorted(table for table in self.by_table if table is not None))

    @property
    def count(self) -> int:
        """The number of dead letters."""
        return sum(offsets.offsets for _, _, offsets in self)

    @property
    def spans(self) -> int:
        """The number of intervals in which they are stored."""
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
