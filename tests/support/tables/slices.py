"""Slices of plans, written to real files and announced, for the tables of a lake."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table import Table

from floe.commit.table_commit import TableCommit, commit_table
from floe.control.announcement import Announcement, TableAnnouncement, TableFiles, next_offset
from floe.control.data_files import SpecFiles, from_pyiceberg, partition_type_of
from floe.control.table_work import TableWork
from floe.control.wire.events import DataFile, TableReference
from floe.model.accounting import RangeCounts, TableCounts
from floe.model.holding import LogId
from floe.model.ledger import Ledger
from floe.model.offsets import Intervals, OffsetRange
from floe.model.plan import Plan, Slice, SliceKind
from floe.model.positions import PartitionBacklog, Position, PositionMetadata
from floe.model.route_hash import route_hash
from floe.parquet.table_writer import TableWriter
from floe.tables.table_state import ledger_of
from tests.support.tables.lake import CLUSTER, GROUP, ROUTE, SAUCES, TABLE, TIME_MS, TOPIC, TOPIC_ID, Lake, Row


def make_plan(
    *ranges: tuple[int, int, int],
    plan_id: str = "plan-1",
    since: int = 0,
    control_ends: Mapping[int, int] | None = None,
    tables: Sequence[str] = (TABLE,),
    backlogs: Mapping[str, PartitionBacklog] | None = None,
    kind: str = "live",
    index: int = 0,
) -> Plan:
    """Make a plan of one slice over (partition, start, end); every position is at its range's start, with ``debts``."""
    metadata = PositionMetadata("routing", since, TOPIC_ID, CLUSTER, backlogs=backlogs or {}).encode()
    frozen = tuple(OffsetRange(TOPIC, TOPIC_ID, p, start, end) for p, start, end in ranges)
    return Plan(
        plan_id=plan_id,
        connector="pizzas",
        group_id=GROUP,
        cluster_id=CLUSTER,
        config={},
        control_topic="control-iceberg",
        control_ends=control_ends or {0: 3},
        positions=() if SliceKind(kind).is_replay else tuple(Position(r.tp, r.start, metadata) for r in frozen),
        slices=(Slice(index, SliceKind(kind), frozen, tuple(tables)),),
    )


def write_rows(table: Table, rows: Iterable[Row], spec_id: int | None = None) -> SpecFiles:
    """Write rows to real files of one spec, as the job does."""
    spec = table.spec() if spec_id is None else table.specs()[spec_id]
    schema = table.schema()
    records = [
        {"kafka_partition": p, "kafka_offset": offset, "sauce": SAUCES[offset % len(SAUCES)]} for p, offset in rows
    ]
    writer = TableWriter(table.metadata, table.io, schema, spec, table.properties, "test")
    writer.write(pa.Table.from_pylist(records, schema=schema_to_pyarrow(schema)))
    partition_type = partition_type_of(spec, schema)
    files = tuple(from_pyiceberg(file, partition_type, spec.spec_id) for file in writer.close())
    return SpecFiles(spec.spec_id, partition_type, files)


def make_share(
    table: Table,
    new_ranges: Sequence[tuple[OffsetRange, Intervals]],
    files: tuple[SpecFiles, ...],
    branch: str = "main",
    table_uuid: UUID | None = None,
) -> TableFiles:
    *namespace, name = table.name()
    return TableFiles(
        reference=TableReference("iceberg", tuple(namespace), name, table_uuid or table.metadata.table_uuid),
        branch=branch,
        schema_id=table.schema().schema_id,
        new_ranges=tuple(new_ranges),
        routes={TOPIC: route_hash(TOPIC, branch)},
        files=files,
    )


def counts_of(files: TableFiles) -> TableCounts:
    """Return the counts of a table all of whose rows are in its files."""
    rows = sum(f.record_count for spec in files.files for f in spec.files)
    return TableCounts(assigned=rows, rows=rows)


def with_files(announcement: Announcement, *files: TableFiles) -> Announcement:
    """Return an announcement that has these files only; its counts are those of before."""
    of_table = {one.table: one for one in files}
    tables = {name: replace(one, files=of_table.get(name)) for name, one in announcement.tables.items()}
    return replace(announcement, tables=tables)


def with_refused(announcement: Announcement, why: str, *tables: str) -> Announcement:
    """Return an announcement where some tables could not be written."""
    refused = {name: replace(announcement.tables[name], files=None, refused=why) for name in tables}
    return replace(announcement, tables={**announcement.tables, **refused})


def make_announcement(
    plan: Plan, *all_table_files: TableFiles, control_offset: tuple[int, int] | None = (0, 9)
) -> Announcement:
    (slice_,) = plan.slices
    ranges = slice_.ranges
    return Announcement(
        slice_id=plan.slice_id(slice_),
        commit_id=plan.commit_id,
        kind=slice_.kind,
        ranges=ranges,
        tables=dict.fromkeys(slice_.tables, TableAnnouncement(TableCounts()))
        | {one.table: TableAnnouncement(counts_of(one), one) for one in all_table_files},
        counts=tuple((r, RangeCounts(routed=len(r))) for r in ranges),
        assignments=tuple(next_offset(r, TIME_MS) for r in ranges),
        control_offset=control_offset,
    )


@dataclass(frozen=True)
class Written:
    """One slice, written for one table and announced, waiting to be landed."""

    lake: Lake
    plan: Plan
    announcement: Announcement

    @property
    def counts(self) -> TableCounts:
        return self.announcement.tables[self.table_files.table].counts

    @property
    def table_files(self) -> TableFiles:
        return self.announcement.files[0]

    @property
    def files(self) -> tuple[DataFile, ...]:
        return tuple(f for spec in self.table_files.files for f in spec.files)

    def with_share(self, **changes: Any) -> Written:
        """Return the same slice, announced otherwise."""
        return replace(self, announcement=with_files(self.announcement, replace(self.table_files, **changes)))

    def with_files(self, *files: DataFile) -> Written:
        """Return the same slice, with other files announced in the place of its own."""
        return self.with_share(files=(replace(self.table_files.files[0], files=files),))

    def land(self, catalog: Catalog | None = None, timeout_s: float = 20) -> TableCommit:
        """Land it by a client of its own."""
        work = TableWork.of(self.plan, self.announcement, self.table_files)
        opened = self.lake.opened(catalog, name=self.plan.group_id.removeprefix("connect-"))
        return commit_table(opened, work, timeout_s)


Write = Callable[..., Written]
"""Plan ranges and write what a table lacks of them, as ``write_slice`` in some lake."""


def write_slice(
    lake: Lake,
    *ranges: tuple[int, int, int],
    branch: str = "main",
    spec_ids: Sequence[int | None] = (None,),
    **of_plan: Any,
) -> Written:
    """Plan ranges (partition, start, end) and write what the tables' ledgers lack: each offset is a row."""
    plan = make_plan(*ranges, **of_plan)
    all_table_files = (write_share(lake, plan, name, branch, spec_ids) for name in plan.slices[0].tables)
    return Written(lake, plan, make_announcement(plan, *all_table_files))


def write_share(
    lake: Lake, plan: Plan, name: str = TABLE, branch: str = "main", spec_ids: Sequence[int | None] = (None,)
) -> TableFiles:
    """Write what one table lacks of the slice of a plan; all of it, where it is appended once more."""
    (slice_,) = plan.slices
    table = lake.load(name)
    ledger = ledger_of(table, branch, plan)
    if slice_.kind == "append":
        ledger = Ledger(plan.cluster_id)
    new_ranges = [(r, ledger.new_offsets(r, route_hash(TOPIC, branch))) for r in plan.taken(slice_, name)]
    rows = [
        (r.partition, offset)
        for r, new_offsets in new_ranges
        for start, end in new_offsets
        for offset in range(start, end)
    ]
    share_of = len(spec_ids)
    files = tuple(write_rows(table, rows[i::share_of], spec_id) for i, spec_id in enumerate(spec_ids))
    return make_share(table, new_ranges, files, branch)


def land_in_process(folder: str, plan: dict[str, Any], announcement: Announcement) -> bool:
    """Land in another process; say whether it had landed already."""
    lake = Lake(Path(folder))
    try:
        return Written(lake, Plan.from_json(plan), announcement).land().already
    finally:
        lake.close()


def held(lake: Lake, written: Written, branch: str = "main", route: str = ROUTE) -> Intervals:
    """Return the offsets of partition 0 that the ledger of a branch has."""
    holdings = ledger_of(lake.load(), branch, written.plan).holdings
    return holdings[LogId(TOPIC, TOPIC_ID, 0)].held.get(route, Intervals())
