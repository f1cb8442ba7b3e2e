"""Announcements: the events of one slice, sent in one Kafka transaction."""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from floe.control import headers as h
from floe.control.spec_files import SpecFiles
from floe.control.wire.codec import encode
from floe.control.wire.events import (
    DataComplete,
    DataFile,
    DataWritten,
    Event,
    TableReference,
    TopicPartitionOffset,
)
from floe.kafka.transactions import ControlRecord
from floe.model.accounting import RangeCounts, TableCounts
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.holding import LogId
from floe.model.intervals import Intervals
from floe.model.ledger import ranges_of
from floe.model.plan import Plan
from floe.model.ranges import OffsetRange, ranges_to_json

MAX_EVENT_BYTES = 400_000
"""Bytes; well below the default message size limit of 1,048,588."""


@dataclass(frozen=True)
class TableFiles:
    """The files that one slice wrote for one table.

    ``new_ranges``: per range the new offsets, whose records are in the files; the ledger contained all others.
    ``routes``: route hash per topic. ``seen``: of what is replaced, records that the writer knew to be dead letters turned
    into rows.
    """

    reference: TableReference
    branch: str
    schema_id: int
    new_ranges: tuple[tuple[OffsetRange, Intervals], ...]
    routes: Mapping[str, str]
    files: tuple[SpecFiles, ...]
    seen: Mapping[LogId, Intervals] = field(default_factory=dict)

    @property
    def table(self) -> str:
        return ".".join((*self.reference.namespace, self.reference.name))

    @property
    def file_count(self) -> int:
        return sum(len(spec.files) for spec in self.files)


@dataclass(frozen=True)
class TableAnnouncement:
    """One table of a slice. ``files``: None where nothing is to be committed to it.

    ``refused``: why it could not be written; its rows of the slice become backlog.
    """

    counts: TableCounts
    files: TableFiles | None = None
    refused: str | None = None


@dataclass(frozen=True)
class Announcement:
    """One written slice: its tables, its record counts, and its place in the control topic.

    ``lost``: ranges accepted as lost that no snapshot records yet. ``recovered``: records that were dead letters and
    are rows of the files, by table. ``resolved``: dead letters that need no further action after every table is
    committed. ``known``: of a replacement, the dead letters that were open when it was written. ``reasons``: of a
    redrive, how many records failed again, by error. ``write_ms``: how long the write took, if the next plan depends on
    it. ``assignments``: every partition of the connector, those read with their next offset and last timestamp.
    ``control_offset``: control partition and next offset behind the announcement; None before it was read back.
    """

    slice_id: str
    commit_id: uuid.UUID
    kind: str
    ranges: tuple[OffsetRange, ...]
    tables: Mapping[str, TableAnnouncement]
    counts: tuple[tuple[OffsetRange, RangeCounts], ...]
    assignments: tuple[TopicPartitionOffset, ...]
    lost: tuple[OffsetRange, ...] = ()
    recovered: DeadLetterOffsets = field(default_factory=DeadLetterOffsets)
    resolved: DeadLetterOffsets = field(default_factory=DeadLetterOffsets)
    known: DeadLetterOffsets = field(default_factory=DeadLetterOffsets)
    reasons: Mapping[str, int] = field(default_factory=dict)
    write_ms: int | None = None
    control_offset: tuple[int, int] | None = None

    @property
    def files(self) -> list[TableFiles]:
        """What is to be committed, by table."""
        return [one.files for one in self.tables.values() if one.files is not None]

    @property
    def refused(self) -> dict[str, str]:
        """The tables that could not be written, with the reason."""
        return {table: one.refused for table, one in self.tables.items() if one.refused is not None}


def encode_announcement(plan: Plan, announcement: Announcement) -> list[ControlRecord]:
    """Return the records of one announcement: DataWritten events, then the DataComplete that completes it."""
    slice_id, kind = announcement.slice_id, announcement.kind
    records: list[ControlRecord] = []
    for table_files in announcement.files:
        bodies = [(spec, body) for spec in table_files.files for body in _bodies(plan, table_files, spec, spec.files)]
        common: dict[str, Any] = {
            h.NEW_OFFSETS: ranges_to_json(_new_ranges_only(table_files.new_ranges)),
            h.ROUTE: dict(table_files.routes),
            h.BRANCH: table_files.branch,
            h.SCHEMA_ID: str(table_files.schema_id),
        }
        if table_files.seen:
            common[h.SEEN] = ranges_to_json(ranges_of(table_files.seen))
        for i, (spec, body) in enumerate(bodies, start=1):
            more: dict[str, Any] = {h.PART: f"{i}/{len(bodies)}", h.SPEC_ID: str(spec.spec_id), **common}
            records.append(ControlRecord(body, h.header_list(slice_id, kind, more)))
    complete = Event.of(plan.group_id, DataComplete(announcement.commit_id, announcement.assignments))
    more = {
        h.RANGES: ranges_to_json(announcement.ranges),
        h.TABLES: {
            table: {
                "files": 0 if one.files is None else one.files.file_count,
                **one.counts.to_json(),
                **({} if one.refused is None else {"refused": one.refused}),
            }
            for table, one in announcement.tables.items()
        },
        h.COUNTS: [[r.topic, r.partition, counts.to_json()] for r, counts in announcement.counts],
    }
    if announcement.lost:
        more[h.LOST] = ranges_to_json(announcement.lost)
    if announcement.recovered:
        more[h.RECOVERED] = announcement.recovered.to_json()
    if announcement.resolved:
        more[h.RESOLVED] = announcement.resolved.to_json()
    if announcement.reasons:
        more[h.REASONS] = dict(announcement.reasons)
    if announcement.write_ms is not None:
        more[h.WRITE_MS] = str(announcement.write_ms)
    if announcement.known:
        more[h.KNOWN] = announcement.known.to_json()
    records.append(ControlRecord(encode(complete), h.header_list(slice_id, kind, more)))
    return records


def _new_ranges_only(new_ranges: Iterable[tuple[OffsetRange, Intervals]]) -> Iterator[OffsetRange]:
    for r, new_offsets in new_ranges:
        for start, end in new_offsets:
            yield OffsetRange(r.topic, r.topic_id, r.partition, start, end)


def _bodies(plan: Plan, table_files: TableFiles, spec: SpecFiles, files: Sequence[DataFile]) -> Iterator[bytes]:
    """Encode files as one event, or as several if one would be too large."""
    event = Event.of(
        plan.group_id, DataWritten(plan.commit_id, table_files.reference, tuple(files), (), spec.partition_type)
    )
    body = encode(event)
    if len(body) <= MAX_EVENT_BYTES or len(files) == 1:
        yield body
        return
    half = len(files) // 2
    yield from _bodies(plan, table_files, spec, files[:half])
    yield from _bodies(plan, table_files, spec, files[half:])


def next_offset(r: OffsetRange, timestamp_ms: int | None) -> TopicPartitionOffset:
    """Build the assignment of a range that was read: its next offset and its last record's time."""
    timestamp = None if timestamp_ms is None else _moment(timestamp_ms)
    return TopicPartitionOffset(r.topic, r.partition, r.end, timestamp)


def _moment(timestamp_ms: int) -> datetime | None:
    """Read a record's time; None if it is not a valid date, as from producers that count in microseconds."""
    try:
        return datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
