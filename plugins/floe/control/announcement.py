"""Announcements: the events of one slice, sent in one Kafka transaction."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from floe.config.names import table_problem
from floe.control import headers as h
from floe.control.data_files import SpecFiles
from floe.control.topic_reader import ControlMessage
from floe.control.wire.codec import encode
from floe.control.wire.events import DataComplete, DataFile, DataWritten, Event, TableReference, TopicPartitionOffset
from floe.kafka.transactions import ControlRecord
from floe.model.accounting import RangeCounts, TableCounts
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.holding import LogId
from floe.model.ledger import ranges_of
from floe.model.offsets import Intervals, OffsetRange, ranges_from_json, ranges_to_json
from floe.model.plan import Plan, Slice
from floe.model.slice_scope import SliceScope

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


# One announcement, checked and built from its records.


class AnnouncedMode(Protocol):
    """What is asked of the write mode of an announced table."""

    @property
    def repeat_by(self) -> str: ...

    @property
    def commits_without_files(self) -> bool: ...


ModeOf = Callable[[SliceScope, str], AnnouncedMode]
"""Returns the write mode of a table."""


@dataclass(frozen=True)
class AnnouncementPart:
    """One ``DataWritten`` of an announcement, with its headers."""

    payload: DataWritten
    headers: Mapping[str, str]


def assemble(
    scope: SliceScope,
    mode_of: ModeOf,
    parts: Sequence[AnnouncementPart],
    complete: DataComplete,
    message: ControlMessage,
) -> Announcement:
    """Put an announcement together from its parts and its last message.

    Raises ValueError, and what values of another shape raise, where it is not of this slice or contradicts itself.
    """
    plan, slice_ = scope.plan, scope.slice
    _check_is_of_slice(plan, slice_, complete, message)
    by_partition = {r.tp: r for r in slice_.ranges}
    tables = h.json_header(message.headers, h.TABLES)
    _check_tables(plan, slice_, tables)
    parts_of: dict[str, list[AnnouncementPart]] = {}
    for part in parts:
        parts_of.setdefault(_table_name(part.payload.table_reference), []).append(part)
    announced = {
        name: _table(scope, mode_of(scope, name), name, given, parts_of.get(name, ())) for name, given in tables.items()
    }
    if not_listed := parts_of.keys() - {name for name, one in announced.items() if one.files is not None}:
        msg = f"it has files of tables that it does not list: {sorted(not_listed)}"
        raise ValueError(msg)
    counts = tuple(
        (by_partition[(topic, int(partition))], RangeCounts.from_json(given_counts))  # type: ignore[index]
        for topic, partition, given_counts in h.json_header(message.headers, h.COUNTS)
    )
    return Announcement(
        slice_id=plan.slice_id(slice_),
        commit_id=complete.commit_id,
        kind=slice_.kind,
        ranges=slice_.ranges,
        tables=announced,
        counts=counts,
        assignments=complete.assignments or (),
        lost=ranges_from_json(h.json_header(message.headers, h.LOST)) if h.LOST in message.headers else (),
        recovered=_dead_letters(message, h.RECOVERED, slice_),
        resolved=_dead_letters(message, h.RESOLVED, slice_),
        reasons=_reasons(message),
        known=_dead_letters(message, h.KNOWN, slice_),
        write_ms=int(message.headers[h.WRITE_MS]) if h.WRITE_MS in message.headers else None,
        control_offset=(message.partition, message.offset + 1),
    )


def _check_is_of_slice(plan: Plan, slice_: Slice, complete: DataComplete, message: ControlMessage) -> None:
    """Raise ValueError for another format, commit, kind or other ranges than those of the plan."""
    if message.headers.get(h.VERSION) != h.FORMAT or complete.commit_id != plan.commit_id:
        msg = f"its format is {message.headers.get(h.VERSION)!r} and its commit id {complete.commit_id}"
        raise ValueError(msg)
    if message.headers.get(h.KIND) != slice_.kind:
        msg = f"its kind is {message.headers.get(h.KIND)!r}, that of the plan {slice_.kind.value!r}"
        raise ValueError(msg)
    ranges = ranges_from_json(h.json_header(message.headers, h.RANGES))
    if sorted(map(str, ranges)) != sorted(map(str, slice_.ranges)) or set(ranges) != set(slice_.ranges):
        msg = f"its ranges {[str(r) for r in ranges]} are not those of the plan {[str(r) for r in slice_.ranges]}"
        raise ValueError(msg)


def _check_tables(plan: Plan, slice_: Slice, tables: Collection[str]) -> None:
    """Raise ValueError for other tables than those of the plan, and for names that no table can have."""
    if slice_.tables and set(tables) - {plan.dead_letters} != set(slice_.tables):
        msg = f"its tables {sorted(tables)} are not those of the plan {sorted(slice_.tables)}"
        raise ValueError(msg)
    if problem := next((found for name in tables if (found := table_problem(name))), None):
        raise ValueError(problem)


def _reasons(message: ControlMessage) -> dict[str, int]:
    fields = h.json_header(message.headers, h.REASONS) if h.REASONS in message.headers else {}
    return {str(error): int(count) for error, count in fields.items()}


def _dead_letters(message: ControlMessage, header: str, slice_: Slice) -> DeadLetterOffsets:
    if header not in message.headers:
        return DeadLetterOffsets()
    dead_letters = DeadLetterOffsets.from_json(h.json_header(message.headers, header))
    if dead_letters != dead_letters.within(slice_.ranges):
        msg = f"its dead letters ({header}) are not all inside the ranges of the slice"
        raise ValueError(msg)
    return dead_letters


def _table_name(reference: TableReference) -> str:
    return ".".join((*reference.namespace, reference.name))


def _table(
    scope: SliceScope, mode: AnnouncedMode, name: str, given: Mapping[str, Any], own_parts: Sequence[AnnouncementPart]
) -> TableAnnouncement:
    """Put a table's announcement together from its row of the last message, and its parts."""
    counts = TableCounts.from_json({key: count for key, count in given.items() if key not in ("files", "refused")})
    refused = str(given["refused"]) if "refused" in given else None
    if not (given["files"] or given.get("rows") or (own_parts and mode.commits_without_files)):
        return TableAnnouncement(counts, refused=refused)
    files = _table_files(name, int(given["files"]), counts, own_parts, {r.tp: r for r in scope.taken(name)})
    if mode.repeat_by != "replay" and counts.held > sum(len(r) - new.offsets for r, new in files.new_ranges):
        msg = (
            f"{counts.held} rows of table {name!r} are counted as already contained, more than the offsets outside its new "
            "offsets"
        )
        raise ValueError(msg)
    return TableAnnouncement(counts, files, refused)


def _table_files(
    name: str,
    count: int,
    counts: TableCounts,
    own_parts: Sequence[AnnouncementPart],
    by_partition: Mapping[Any, OffsetRange],
) -> TableFiles:
    if not own_parts:
        msg = f"it lists table {name!r} but has no part of it"
        raise ValueError(msg)
    expected = [f"{i}/{len(own_parts)}" for i in range(1, len(own_parts) + 1)]
    if [p.headers.get(h.PART) for p in own_parts] != expected:
        msg = f"its parts of table {name!r} are {[p.headers.get(h.PART) for p in own_parts]}, expected {expected}"
        raise ValueError(msg)
    first = own_parts[0]
    files = tuple(
        SpecFiles(int(p.headers[h.SPEC_ID]), p.payload.partition_type, tuple(p.payload.data_files or ()))
        for p in own_parts
    )
    if sum(len(f.files) for f in files) != count:
        msg = f"it lists {count} files of table {name!r} but has {sum(len(f.files) for f in files)}"
        raise ValueError(msg)
    if any(p.payload.delete_files for p in own_parts):
        msg = f"it has delete files for table {name!r}, which floe never writes"
        raise ValueError(msg)
    if sum(f.record_count for spec in files for f in spec.files) != counts.rows:
        msg = f"the files of table {name!r} do not have as many rows as its record counts ({counts.rows})"
        raise ValueError(msg)
    return TableFiles(
        reference=first.payload.table_reference,
        branch=first.headers[h.BRANCH],
        schema_id=int(first.headers[h.SCHEMA_ID]),
        new_ranges=_new_ranges_of(h.json_header(first.headers, h.NEW_OFFSETS), by_partition),
        routes=_routes(h.json_header(first.headers, h.ROUTE), by_partition),
        files=files,
        seen=_offsets(first.headers, h.SEEN),
    )


def _routes(fields: Mapping[str, Any], by_partition: Mapping[Any, OffsetRange]) -> dict[str, str]:
    missing = {r.topic for r in by_partition.values()} - fields.keys()
    if missing:
        msg = f"it has no route hash of the topics {sorted(missing)}"
        raise ValueError(msg)
    return {str(topic): str(route) for topic, route in fields.items()}


def _offsets(headers: Mapping[str, str], name: str) -> dict[LogId, Intervals]:
    spans: dict[LogId, list[tuple[int, int]]] = {}
    for r in ranges_from_json(h.json_header(headers, name)) if name in headers else ():
        spans.setdefault(LogId.of(r), []).append((r.start, r.end))
    return {log_id: Intervals.of(found) for log_id, found in spans.items()}


def _new_ranges_of(
    fields: Mapping[str, Any], by_partition: Mapping[Any, OffsetRange]
) -> tuple[tuple[OffsetRange, Intervals], ...]:
    spans: dict[OffsetRange, list[tuple[int, int]]] = {r: [] for r in by_partition.values()}
    for new_offsets in ranges_from_json(dict(fields)):
        r = by_partition[new_offsets.tp]
        if new_offsets.topic_id != r.topic_id or new_offsets.start < r.start or new_offsets.end > r.end:
            msg = f"its new offsets {new_offsets} are not inside {r}"
            raise ValueError(msg)
        spans[r].append((new_offsets.start, new_offsets.end))
    return tuple((r, Intervals.of(s)) for r, s in spans.items())
