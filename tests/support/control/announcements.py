"""Announcements of one slice, written and read back without a broker."""

import json
from collections.abc import Iterable, Sequence
from uuid import uuid4

from floe.control.announcement import Announcement, TableAnnouncement, TableFiles, encode_announcement, next_offset
from floe.control.announcement_reader import AnnouncementReader
from floe.control.data_files import SpecFiles
from floe.control.topic_reader import ControlMessage
from floe.control.wire.events import DataFile, PartitionType, TableReference
from floe.kafka.transactions import ControlRecord
from floe.model.accounting import RangeCounts, TableCounts
from floe.model.offsets import Intervals, OffsetRange
from floe.model.plan import Plan, Slice, SliceKind
from floe.model.plan_seal import PlanKey
from floe.model.positions import Position, PositionMetadata
from floe.modes.write_modes import mode_of

GROUP = "connect-pizzas"


RANGES = (OffsetRange("pizzas", "T1", 0, 10, 20), OffsetRange("pizzas", "T1", 1, 0, 5))


NETS = ((RANGES[0], Intervals(((12, 15), (17, 20)))), (RANGES[1], Intervals()))


Messages = list[ControlMessage]


def make_plan(ranges: Sequence[OffsetRange] = RANGES, tables: Sequence[str] = ("rpc.pizzas",)) -> Plan:
    metadata = PositionMetadata("routing", 0, "T1", "C1").encode()
    return Plan(
        plan_id="plan-1",
        connector="pizzas",
        group_id=GROUP,
        cluster_id="C1",
        config={},
        control_topic="control-iceberg",
        control_ends={0: 3},
        positions=tuple(Position(r.tp, r.start, metadata) for r in ranges),
        slices=(Slice(0, SliceKind.LIVE, tuple(ranges), tuple(tables)),),
    )


def make_files(count: int, name: str = "a", sauce: str | None = None) -> tuple[DataFile, ...]:
    partition = () if sauce is None else (sauce,)
    return tuple(
        DataFile(file_path=f"/wh/{name}-{i}.parquet", partition=partition, record_count=3, file_size_in_bytes=99)
        for i in range(count)
    )


def make_share(*specs: SpecFiles, table: str = "rpc.pizzas") -> TableFiles:
    specs = specs or (SpecFiles(0, PartitionType(), make_files(2)),)
    *namespace, name = table.split(".")
    reference = TableReference("iceberg", tuple(namespace), name, uuid4())
    return TableFiles(reference, "main", 4, NETS, {"pizzas": "route"}, specs)


def counts_of(files: TableFiles) -> TableCounts:
    rows = sum(f.record_count for spec in files.files for f in spec.files)
    return TableCounts(assigned=rows + 2, rows=rows, held=2) if rows else TableCounts()


def make(*all_table_files: TableFiles, idle: Sequence[str] = ()) -> Announcement:
    plan = make_plan()
    return Announcement(
        slice_id="plan-1/0",
        commit_id=plan.commit_id,
        kind="live",
        ranges=RANGES,
        tables={one.table: TableAnnouncement(counts_of(one), one) for one in all_table_files}
        | {name: TableAnnouncement(TableCounts()) for name in idle},
        counts=((RANGES[0], RangeCounts(routed=8, invisible=2)), (RANGES[1], RangeCounts(tombstones=5))),
        assignments=(next_offset(RANGES[0], 1_704_164_645_123), next_offset(RANGES[1], None)),
    )


def sent(records: Iterable[ControlRecord], start: int = 7, key: str | None = GROUP) -> Messages:
    """Return records as the committer reads them back."""
    return [
        ControlMessage(0, start + i, key, r.value, {name: str(value) for name, value in r.headers})
        for i, r in enumerate(records)
    ]


def announced(announcement: Announcement, start: int = 7) -> Messages:
    """Return an announcement as the records of a control topic."""
    return sent(encode_announcement(make_plan(), announcement), start)


def find_announcement(
    plan: Plan, slice_: Slice, messages: Iterable[ControlMessage], key: PlanKey | None
) -> Announcement | None:
    """Return the first complete announcement of a slice; None when there is none."""
    reader = AnnouncementReader(plan, key, mode_of)
    reader.feed(messages)
    reader.log_unsigned()
    return reader.found.get(plan.slice_id(slice_))


def find(messages: Iterable[ControlMessage], *tables: str) -> Announcement | None:
    """Look for the announcement of the plan's slice."""
    plan = make_plan(tables=tables or ("rpc.pizzas",))
    return find_announcement(plan, plan.slices[0], messages, None)


def with_header(message: ControlMessage, name: str, value: object) -> ControlMessage:
    """Return a record with another value of a header."""
    text = value if isinstance(value, str) else json.dumps(value)
    return message._replace(headers={**message.headers, name: text})
