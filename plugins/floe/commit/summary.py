"""Snapshot summaries: the sink's own properties, and floe's beside them."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import pyiceberg
from pyiceberg.table.metadata import TableMetadata

import floe
from floe.commit.ancestry import BRANCH, GROUP, NET, REPLACED, REVIVED, ROUTE, SLICE
from floe.commit.control_offsets import known_offsets, offsets_property, raised
from floe.control.announcement import Announcement, TableShare
from floe.control.events import TopicPartitionOffset
from floe.offsets.intervals import Intervals
from floe.offsets.ledger import Ledger, LogId, ranges_of
from floe.offsets.letters import LetterOffsets
from floe.offsets.plan import Plan, SliceKind
from floe.offsets.ranges import OffsetRange, ranges_to_json

LONGEST_PROPERTY = 4_096
"""Characters of a net or of books in a summary; longer ones are replaced by a digest."""


def snapshot_properties(
    plan: Plan, announcement: Announcement, share: TableShare, metadata: TableMetadata, ledger: Ledger
) -> dict[str, str]:
    """Return the summary properties of one table's commit.

    Those under ``kafka.connect.`` are the Iceberg sink's, with its formats; they let the sink take over. The control
    offsets are raised, never lowered, against the nearest ancestor that has them. ``floe.net`` is what the ledger holds
    newly, ``floe.appended`` what a replay appended on purpose, held or not, ``floe.revived`` dead letters that became rows.
    """
    offsets_key = offsets_property(plan.control_topic, plan.group_id)
    properties = {
        offsets_key: _control_offsets(offsets_key, plan, announcement, share, metadata),
        "kafka.connect.commit-id": str(plan.commit_id),
        "kafka.connect.task-id": f"{plan.connector}-0",
        **_engine(),
        GROUP: plan.group_id,
        SLICE: announcement.slice_id,
        "floe.kind": announcement.kind,
        NET: _bounded(_net(announcement, share, ledger)),
        BRANCH: share.branch,
        ROUTE: json.dumps(dict(sorted(share.routes.items())), separators=(",", ":")),
        "floe.books": _bounded(_books(announcement, share)),
    }
    if announcement.kind == SliceKind.APPEND:
        properties["floe.appended"] = _bounded(ranges_to_json(r for r, _ in share.nets))
    if announcement.kind == SliceKind.REPLACE and share.table != plan.letters:
        properties[REPLACED] = _bounded(ranges_to_json(r for r, _ in share.nets))
    revived = announcement.revived.by_table.get(share.table, {})
    if revived:
        properties[REVIVED] = _bounded(ranges_to_json(ranges_of(revived)))
    if announcement.lost:
        properties["floe.lost"] = _bounded(ranges_to_json(announcement.lost))
    through = valid_through(announcement.assignments)
    if through is not None:
        properties["kafka.connect.valid-through-ts"] = offset_date_time(through)
    return properties


def marks_properties(plan: Plan, announcement: Announcement, branch: str, marks: LetterOffsets) -> dict[str, str]:
    """Return the summary properties of a snapshot that marks dead letters resolved."""
    return {
        **_engine(),
        GROUP: plan.group_id,
        SLICE: f"{announcement.slice_id}/resolved",
        "floe.kind": announcement.kind,
        NET: "{}",
        BRANCH: branch,
        "floe.resolved": str(marks.count),
    }


def _engine() -> dict[str, str]:
    return {
        "engine-name": "floe",
        "engine-version": floe.__version__,
        "iceberg-version": f"PyIceberg {pyiceberg.__version__}",
    }


def _control_offsets(
    key: str, plan: Plan, announcement: Announcement, share: TableShare, metadata: TableMetadata
) -> str:
    ends = dict(plan.control_ends)
    if announcement.control_offset is not None:
        partition, end = announcement.control_offset
        ends[partition] = max(end, ends.get(partition, 0))
    return raised(known_offsets(metadata, share.branch, key), ends)


def valid_through(assignments: Iterable[TopicPartitionOffset]) -> datetime | None:
    """Return the time up to which all partitions were read; None when one of them had no record, as in the sink."""
    timestamps = [a.timestamp for a in assignments]
    known = [t for t in timestamps if t is not None]
    return min(known) if known and len(known) == len(timestamps) else None


def offset_date_time(moment: datetime) -> str:
    """Write a moment as Java's ``OffsetDateTime.toString`` does: seconds left out when zero, 3 or 6 digits of fraction."""
    utc = moment.astimezone(UTC)
    text = utc.replace(tzinfo=None).isoformat(timespec="minutes")
    if utc.second or utc.microsecond:
        text += utc.strftime(":%S")
    if utc.microsecond:
        fraction = f"{utc.microsecond:06d}"
        text += "." + (fraction[:3] if fraction.endswith("000") else fraction)
    return text + "Z"


def _net(announcement: Announcement, share: TableShare, ledger: Ledger) -> Mapping[str, object]:
    """Return what the table gets newly: what it did not hold, and letters, which it held without a row.

    What is replaced it held, under whatever route: a rollback brings back the rows that it had.
    """
    revived = announcement.revived
    is_replaced = announcement.kind == SliceKind.REPLACE
    return ranges_to_json(
        OffsetRange(r.topic, r.topic_id, r.partition, start, end)
        for r, net in share.nets
        for start, end in (net - (ledger.held_by_any(r) if is_replaced else ledger.held(r, share.routes[r.topic])))
        | (revived.at(share.table, LogId.of(r)) & Intervals(((r.start, r.end),)))
    )


def _books(announcement: Announcement, share: TableShare) -> Mapping[str, object]:
    return {
        "ranges": [[r.topic, r.partition, r.start, r.end, b.to_json()] for r, b in announcement.books],
        "table": share.books.to_json(),
    }


def _bounded(value: Mapping[str, object]) -> str:
    text = json.dumps(value, separators=(",", ":"))
    if len(text) <= LONGEST_PROPERTY:
        return text
    return json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest(), "characters": len(text)})
