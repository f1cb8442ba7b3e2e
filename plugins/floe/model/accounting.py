"""Record counts: every offset of a range, and every row meant for a table, is counted exactly once."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar, Self

from floe.model.exceptions import CountsDoNotAddUp
from floe.model.offsets import OffsetRange


@dataclass(frozen=True, slots=True)
class _Counts:
    """Counts that add up field by field. ``STORED``: names of fields in JSON, where they differ."""

    STORED: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def to_json(self) -> dict[str, int]:
        return {self.STORED.get(name, name): count for name, count in asdict(self).items() if count}

    @classmethod
    def from_json(cls, counts: dict[str, Any]) -> Self:
        names = {stored: name for name, stored in cls.STORED.items()}
        return cls(**{names.get(name, name): int(count) for name, count in counts.items()})


@dataclass(frozen=True, slots=True)
class RangeCounts(_Counts):
    """The outcome of each offset of one range, in offsets.

    ``routed``: to at least one table. ``dead``: refused before routing. ``tombstones``: null values.
    ``filtered``: to no table, as configured, or another slice's. ``dropped``: without a usable route, and dropped as
    configured. ``invisible``: gaps between offsets (transaction markers, aborted records, compaction).
    ``filtered_by_transforms``: left out by a transform.
    """

    routed: int = 0
    dead: int = 0
    tombstones: int = 0
    filtered: int = 0
    invisible: int = 0
    dropped: int = 0
    filtered_by_transforms: int = 0

    @property
    def total(self) -> int:
        return sum(getattr(self, f.name) for f in fields(self))


@dataclass(frozen=True, slots=True)
class TableCounts(_Counts):
    """The outcome of the records routed to one table, in records.

    ``rows``: counted in the footers of the data files. ``dead``: refused by the table's schema. ``held``: already
    written, by the table's ledger. ``backlog``: not written because the table cannot be committed.
    """

    STORED = MappingProxyType({"backlog": "owed"})

    assigned: int = 0
    rows: int = 0
    dead: int = 0
    held: int = 0
    backlog: int = 0


def check_range_counts(r: OffsetRange, counts: RangeCounts) -> None:
    """Raise CountsDoNotAddUp unless each offset of ``r`` is counted once."""
    if counts.total != len(r):
        msg = (
            f"the record counts of {r} do not add up: {len(r)} offsets, but {counts.total} counted ({counts}). Nothing was "
            "announced. Run again"
        )
        raise CountsDoNotAddUp(msg)


def balance_tables(
    ranges: Sequence[RangeCounts],
    tables: Mapping[str, TableCounts],
    deliveries: int,
    dead_letters: TableCounts | None = None,
) -> None:
    """Raise CountsDoNotAddUp unless each table's rows add up and every delivery arrived.

    ``deliveries``: how often the reader routed a record to a table; a record routed to two tables counts twice.
    ``dead_letters``: the counts of the dead-letter table, if there is one: every dead record must be assigned to it.
    """
    routed = sum(r.routed for r in ranges)
    dead = sum(r.dead for r in ranges) + sum(t.dead for t in tables.values())
    if dead_letters is not None and (dead_letters.assigned != dead or dead_letters.rows + dead_letters.held != dead):
        msg = (
            f"the record counts of the dead letters do not add up: {dead} records are dead, but the dead letters have the "
            f"counts {dead_letters}. Nothing was announced. Run again"
        )
        raise CountsDoNotAddUp(msg)
    for table, counts in tables.items():
        found = counts.rows + counts.dead + counts.held + counts.backlog
        if counts.assigned != found:
            msg = (
                f"the record counts of table {table!r} do not add up: {counts.assigned} records assigned, but {found} "
                f"counted ({counts}). Nothing was announced. Run again"
            )
            raise CountsDoNotAddUp(msg)
    assigned = sum(t.assigned for t in tables.values())
    if assigned != deliveries or deliveries < routed:
        msg = (
            f"{routed} records were routed, {deliveries} times to a table, but the tables {sorted(tables)[:20]} were "
            f"assigned {assigned}. Nothing was announced. Run again"
        )
        raise CountsDoNotAddUp(msg)
