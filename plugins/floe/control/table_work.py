"""One table's part of an announced slice: the input of the commit to this table."""

from collections.abc import Mapping
from dataclasses import dataclass

from floe.control.announcement import Announcement, TableFiles
from floe.model.accounting import TableCounts
from floe.model.holding import LogId
from floe.model.offsets import Intervals, OffsetRange
from floe.model.plan import Plan, Slice
from floe.model.slice_scope import SliceScope


@dataclass(frozen=True)
class TableWork:
    """The files of one slice for one table, with the slice and the announcement that they belong to."""

    scope: SliceScope
    announcement: Announcement
    files: TableFiles

    @classmethod
    def of(cls, plan: Plan, announcement: Announcement, files: TableFiles) -> "TableWork":
        """Return the work of a table of an announcement."""
        return cls(SliceScope(plan, plan.slice_of(announcement.slice_id)), announcement, files)

    @property
    def plan(self) -> Plan:
        return self.scope.plan

    @property
    def slice(self) -> Slice:
        return self.scope.slice

    @property
    def table(self) -> str:
        return self.files.table

    @property
    def counts(self) -> TableCounts:
        return self.announcement.tables[self.table].counts

    @property
    def branch(self) -> str:
        return self.files.branch

    @property
    def slice_id(self) -> str:
        return self.announcement.slice_id

    @property
    def ranges(self) -> list[OffsetRange]:
        """The ranges whose rows the table gets."""
        return [r for r, _ in self.files.new_ranges]

    @property
    def routed(self) -> list[tuple[OffsetRange, str]]:
        """The same ranges, each with its route hash."""
        return [(r, self.files.routes[r.topic]) for r in self.ranges]

    @property
    def new_offsets(self) -> list[tuple[OffsetRange, str, Intervals]]:
        """Per range its route hash and the offsets that the files are for."""
        return [(r, self.files.routes[r.topic], new_offsets) for r, new_offsets in self.files.new_ranges]

    @property
    def recovered(self) -> Mapping[LogId, Intervals]:
        """Records that were dead letters and are rows of the files."""
        return self.announcement.recovered.by_table.get(self.table, {})
