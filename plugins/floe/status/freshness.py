"""Whether the tables of a connector have the records that were written some time ago: ``floe.freshness.max-ms``.

A table is late when a record that is older than that is in its topics and not in it. So an idle topic makes no table late,
and neither do records for other tables. While the brokers do not answer, what they last answered counts, and grows older.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from floe.status.connector_status import ConnectorStatus

MAX_TABLES: Final = 100
"""Tables that are named one by one, those that are furthest behind."""


@dataclass(frozen=True, slots=True)
class TableFreshness:
    """A table that is late or behind. ``through``: up to when it has all records. ``is_alerted``: once it was late."""

    table: str
    through: datetime
    is_late: bool
    is_alerted: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "through": self.through.isoformat(),
            "is_late": self.is_late,
            "is_alerted": self.is_alerted,
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> TableFreshness:
        return cls(**{**fields, "through": datetime.fromisoformat(fields["through"])})


@dataclass(frozen=True, slots=True)
class Freshness:
    """The freshness of a connector's tables. ``through``: up to when those that are not behind have all records.

    ``through`` is None until it is known. It never goes back: that all was there at some time stays true. ``tables``: those
    that are late or behind. ``more``: late ones that are not among them.
    """

    max_ms: int
    through: datetime | None = None
    tables: tuple[TableFreshness, ...] = ()
    more: int = 0

    @property
    def late(self) -> tuple[TableFreshness, ...]:
        """The late tables that are named, the one that is furthest behind first."""
        return tuple(one for one in self.tables if one.is_late)

    @property
    def late_count(self) -> int:
        return len(self.late) + self.more

    @property
    def unalerted(self) -> tuple[TableFreshness, ...]:
        """The late tables that no alert has named yet."""
        return tuple(one for one in self.late if not one.is_alerted)

    def with_alerts(self) -> Freshness:
        """Note that an alert names all late tables."""
        return replace(self, tables=tuple(replace(one, is_alerted=one.is_late) for one in self.tables))

    def with_most(self, most: int) -> Freshness:
        """Leave the names out of all tables but some."""
        rest = sum(1 for one in self.tables[most:] if one.is_late)
        return replace(self, tables=self.tables[:most], more=self.more + rest)

    def to_json(self) -> dict[str, Any]:
        return {
            "max_ms": self.max_ms,
            "through": None if self.through is None else self.through.isoformat(),
            "tables": [one.to_json() for one in self.tables],
            "more": self.more,
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Freshness:
        through = fields["through"]
        changed = {
            "through": None if through is None else datetime.fromisoformat(through),
            "tables": tuple(TableFreshness.from_json(one) for one in fields["tables"]),
        }
        return cls(**{**fields, **changed})


def freshness_of(
    names: Iterable[str], status: ConnectorStatus, lag_seconds: float | None, max_ms: int, former: Freshness | None
) -> Freshness:
    """Return the freshness of tables by a status, and by what was known before.

    ``lag_seconds``: the age of the oldest unread record, None where it is not known.
    """
    through = _through(status, lag_seconds, former)
    before = {} if former is None else {one.table: one for one in former.tables}
    last = None if former is None else former.through
    behind = _behind(status, former)
    latest = status.at - timedelta(milliseconds=max_ms)
    found = []
    for name in names:
        known = before.get(name)
        of_table = through if name not in behind else known.through if known else last
        if of_table is None:
            continue  # not known yet
        is_late = of_table < latest
        # a former list without all names says of none that is new in it whether there was an alert
        is_alerted = is_late and (known.is_alerted if known else former is not None and former.more > 0)
        if is_late or name in behind:
            found.append(TableFreshness(name, of_table, is_late, is_alerted))
    found.sort(key=lambda one: (one.through, one.table))
    return Freshness(max_ms, through, tuple(found)).with_most(MAX_TABLES)


def _through(status: ConnectorStatus, lag_seconds: float | None, former: Freshness | None) -> datetime | None:
    known = None if former is None else former.through
    if status.partitions is None:
        return known
    is_new = known is None and all(one.committed is None for one in status.partitions)
    if not status.lag or is_new:  # a new connector has the whole time for its first records, however old they are
        now = status.at
    elif lag_seconds is None:
        return known
    else:
        now = status.at - timedelta(seconds=lag_seconds)
    return now if known is None else max(known, now)


def _behind(status: ConnectorStatus, former: Freshness | None) -> set[str]:
    """Return the tables that lack offsets which others have; while the brokers do not answer, those that did."""
    if status.partitions is not None:
        return {one.table for one in status.backlog}
    if former is None or former.through is None:
        return set()
    return {one.table for one in former.tables if one.through < former.through}
