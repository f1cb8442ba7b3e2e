"""The books: every offset of a range, and every row meant for a table, accounted for exactly once."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from floe.offsets.exceptions import BooksDoNotBalance
from floe.offsets.ranges import OffsetRange


@dataclass(frozen=True, slots=True)
class _Counts:
    """Counts that add up field by field."""

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def to_json(self) -> dict[str, int]:
        return {name: count for name, count in asdict(self).items() if count}

    @classmethod
    def from_json(cls, counts: dict[str, Any]) -> Self:
        return cls(**{name: int(count) for name, count in counts.items()})


@dataclass(frozen=True, slots=True)
class RangeBooks(_Counts):
    """Where the offsets of one range went, in offsets.

    ``routed``: to at least one table. ``dead``: refused before routing. ``tombstones``: null values.
    ``filtered``: to no table, as configured. ``invisible``: gaps seen between offsets (transaction markers, aborted
    records, compaction).
    """

    routed: int = 0
    dead: int = 0
    tombstones: int = 0
    filtered: int = 0
    invisible: int = 0

    @property
    def total(self) -> int:
        return self.routed + self.dead + self.tombstones + self.filtered + self.invisible


@dataclass(frozen=True, slots=True)
class TableBooks(_Counts):
    """Where the records routed to one table went, in records.

    ``rows``: counted in the footers of the data files. ``dead``: refused by the table's schema. ``held``: already in
    the table by its ledger. ``owed``: kept back because the table cannot be committed.
    """

    assigned: int = 0
    rows: int = 0
    dead: int = 0
    held: int = 0
    owed: int = 0


def balance_range(r: OffsetRange, books: RangeBooks) -> None:
    """Raise BooksDoNotBalance unless each offset of ``r`` is accounted for once."""
    if books.total != len(r):
        msg = (
            f"the books of {r} do not balance: {len(r)} offsets, but {books.total} accounted for ({books}); "
            "nothing was announced, run again"
        )
        raise BooksDoNotBalance(msg)


def balance_tables(ranges: Iterable[RangeBooks], tables: dict[str, TableBooks]) -> None:
    """Raise BooksDoNotBalance unless each table's rows add up and every routed record was meant for a table."""
    routed = sum(r.routed for r in ranges)
    for table, books in tables.items():
        found = books.rows + books.dead + books.held + books.owed
        if books.assigned != found:
            msg = (
                f"the books of table {table!r} do not balance: {books.assigned} records assigned, but {found} accounted "
                f"for ({books}); nothing was announced, run again"
            )
            raise BooksDoNotBalance(msg)
    if sum(t.assigned for t in tables.values()) < routed:
        msg = f"{routed} records were routed, but the tables {sorted(tables)} were assigned fewer; run again"
        raise BooksDoNotBalance(msg)
