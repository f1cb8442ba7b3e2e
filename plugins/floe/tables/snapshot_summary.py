"""Snapshot summaries: the sink's own properties, and floe's beside them."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import pyiceberg
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

import floe
from floe.config.secrets.mask import clip
from floe.control.announcement import Announcement, TableFiles
from floe.control.table_work import TableWork
from floe.control.wire.events import TopicPartitionOffset
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.holding import LogId
from floe.model.ledger import Anchor, ranges_of
from floe.model.offsets import Intervals, OffsetRange, ranges_to_json
from floe.model.plan import Plan
from floe.model.route_hash import MAIN_BRANCH
from floe.tables.exceptions import TableRefused
from floe.tables.history import (
    BRANCH,
    CODE,
    GROUP,
    NEW_OFFSETS,
    RECOVERED,
    ROUTE,
    SLICE,
    branch_history,
    snapshot_property,
)

log = logging.getLogger(__name__)

PREFIX = "kafka.connect.offsets."

Offsets = Mapping[int, int]
"""Next offset by partition of the control topic."""

_MAX = 2**63 - 1
_SHOWN_CHARACTERS = 100


class CommittedOffsets(NamedTuple):
    """The committed control offsets of one group on a branch: events below ``offsets`` are in it.

    ``is_known`` is False when no snapshot has any, and older ones, which may have had some, have expired.
    """

    offsets: Offsets
    is_known: bool


def offsets_property(control_topic: str, group_id: str) -> str:
    """Name the snapshot property that holds the control offsets of one group."""
    return f"{PREFIX}{control_topic}.{group_id}"


def committed_offsets(metadata: TableMetadata, branch: str, name: str) -> CommittedOffsets:
    """Read the property in the nearest ancestor that has it. Raises TableRefused for one that is no offsets."""
    oldest = None
    for snapshot in _history(metadata, branch):
        try:
            offsets = _offsets(snapshot, name)
        except ValueError as error:
            msg = (
                f"table at {metadata.location!r}: {error}: floe cannot determine which events of the control topic it "
                "contains. Nothing was changed. Roll it back to the snapshot before, or commit a snapshot with the former "
                "value of the property"
            )
            raise TableRefused(msg, code="FLOE-412") from error
        if offsets is not None:
            return CommittedOffsets(offsets, True)
        oldest = snapshot
    return CommittedOffsets({}, oldest is None or _is_first(metadata, oldest))


def known_offsets(metadata: TableMetadata, branch: str, name: str) -> Offsets:
    """Read the property in the nearest ancestor that has offsets there; other values in their place are ignored."""
    for snapshot in _history(metadata, branch):
        try:
            offsets = _offsets(snapshot, name)
        except ValueError as error:
            log.warning("%s. It is ignored. Check who commits to the table", error)
            continue
        if offsets is not None:
            return offsets
    return {}


def _offsets(snapshot: Snapshot, name: str) -> Offsets | None:
    """Read the property of one snapshot; None where it has none. Raises ValueError for what no sink reads."""
    text = snapshot_property(snapshot, name)
    if text is None:
        return None
    try:
        offsets = {int(partition): int(offset) for partition, offset in json.loads(text).items()}
        if all(partition >= 0 and 0 <= offset <= _MAX for partition, offset in offsets.items()):
            return offsets
    except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        pass
    msg = (
        f"property {name!r} of snapshot {snapshot.snapshot_id} is {clip(text, _SHOWN_CHARACTERS)!r}, which contains no "
        "offsets"
    )
    raise ValueError(msg)


def _is_first(metadata: TableMetadata, oldest: Snapshot) -> bool:
    """Return whether nothing came before a snapshot. PyIceberg's expiry removes its parent's id, so the numbers are used.

    Where all numbers below its own are of snapshots that are there, on other branches, none of its history has expired.
    """
    number = oldest.sequence_number or 0
    below = {s.sequence_number for s in metadata.snapshots if 0 < (s.sequence_number or 0) < number}
    return oldest.parent_snapshot_id is None and len(below) == number - 1


def raised(offsets: Offsets, ends: Offsets) -> str:
    """Write the property: the higher of two offsets of each partition, never a lower one."""
    highest = {p: max(offsets.get(p, 0), ends.get(p, 0)) for p in sorted({*offsets, *ends})}
    return json.dumps({str(partition): end for partition, end in highest.items()}, separators=(",", ":"))


def topic_in_use(metadata: TableMetadata, branch: str, group_id: str) -> str | None:
    """Return the control topic that the newest snapshot of a group names; None when there is no such snapshot."""
    topics = (_control_topic(snapshot, group_id) for snapshot in _history(metadata, branch))
    return next(filter(None, topics), None)


def last_of_sink(metadata: TableMetadata, branch: str, group_id: str, anchor: Anchor | None) -> Snapshot | None:
    """Return the newest snapshot that the sink of a group made, and that a ledger of this anchor cannot know of.

    None when there is none: then the sink did not write what the ledger does not contain. ``anchor`` is None for a table
    without ledger.
    """
    for snapshot in _history(metadata, branch):
        if anchor is not None and snapshot.snapshot_id == anchor.snapshot_id:
            return None
        if snapshot_property(snapshot, GROUP) is None and _control_topic(snapshot, group_id) is not None:
            return snapshot
    return None


def _history(metadata: TableMetadata, branch: str) -> Iterator[Snapshot]:
    """Walk the branch backwards; one that does not exist yet grows from main."""
    return branch_history(metadata, branch if branch in metadata.refs else MAIN_BRANCH)


def _control_topic(snapshot: Snapshot, group_id: str) -> str | None:
    names = snapshot.summary.additional_properties if snapshot.summary else {}
    ours = (name for name in names if name.startswith(PREFIX) and name.endswith(f".{group_id}"))
    return next((name[len(PREFIX) : -len(group_id) - 1] for name in ours), None)


Contained = Callable[[OffsetRange, str], Intervals]
"""The offsets of a range that a table contained under a route hash, or under any, before a commit."""

MAX_PROPERTY_LENGTH = 4_096
"""Characters of new offsets or of record counts in a summary; longer values are replaced by a digest."""


def snapshot_properties(
    work: TableWork, metadata: TableMetadata, contained: Contained, of_mode: Mapping[str, str]
) -> dict[str, str]:
    """Return the summary properties of one table's commit.

    Those under ``kafka.connect.`` are the Iceberg sink's, with its formats; they let the sink take over. The control
    offsets are raised, never lowered, against the nearest ancestor that has them. ``floe.net`` is what is new in the ledger,
    beside what the table ``contained``; ``floe.revived`` is dead letters that became rows. ``of_mode``: what the write
    mode adds.
    """
    plan, announcement, table_files = work.plan, work.announcement, work.files
    offsets_key = offsets_property(plan.control_topic, plan.group_id)
    properties = {
        offsets_key: _control_offsets(offsets_key, plan, announcement, table_files, metadata),
        "kafka.connect.commit-id": str(plan.commit_id),
        "kafka.connect.task-id": f"{plan.connector}-0",
        **_engine(),
        GROUP: plan.group_id,
        SLICE: announcement.slice_id,
        "floe.kind": announcement.kind,
        NEW_OFFSETS: bounded(_new_offsets(work, contained)),
        BRANCH: table_files.branch,
        ROUTE: json.dumps(dict(sorted(table_files.routes.items())), separators=(",", ":")),
        "floe.books": bounded(_counts(work)),
        **of_mode,
    }
    if work.recovered:
        properties[RECOVERED] = bounded(ranges_to_json(ranges_of(work.recovered)))
    if plan.code:
        properties[CODE] = bounded(plan.code)
    if announcement.lost:
        properties["floe.lost"] = bounded(ranges_to_json(announcement.lost))
    through = valid_through(announcement.assignments)
    if through is not None:
        properties["kafka.connect.valid-through-ts"] = offset_date_time(through)
    return properties


def marks_properties(plan: Plan, announcement: Announcement, branch: str, marks: DeadLetterOffsets) -> dict[str, str]:
    """Return the summary properties of a snapshot that marks dead letters resolved."""
    return {
        **_engine(),
        GROUP: plan.group_id,
        SLICE: f"{announcement.slice_id}/resolved",
        "floe.kind": announcement.kind,
        NEW_OFFSETS: "{}",
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
    key: str, plan: Plan, announcement: Announcement, table_files: TableFiles, metadata: TableMetadata
) -> str:
    ends = dict(plan.control_ends)
    if announcement.control_offset is not None:
        partition, end = announcement.control_offset
        ends[partition] = max(end, ends.get(partition, 0))
    return raised(known_offsets(metadata, table_files.branch, key), ends)


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


def _new_offsets(work: TableWork, contained: Contained) -> Mapping[str, object]:
    """Return what is new in the table: what it did not contain, and dead letters, which it contained without a row."""
    return ranges_to_json(
        OffsetRange(r.topic, r.topic_id, r.partition, start, end)
        for r, route, new_offsets in work.new_offsets
        for start, end in (new_offsets - contained(r, route))
        | (work.recovered.get(LogId.of(r), Intervals()) & Intervals(((r.start, r.end),)))
    )


def _counts(work: TableWork) -> Mapping[str, object]:
    return {
        "ranges": [[r.topic, r.partition, r.start, r.end, b.to_json()] for r, b in work.announcement.counts],
        "table": work.counts.to_json(),
    }


def bounded(value: Mapping[str, object]) -> str:
    """Write a value for a summary; of one that is too long, its digest."""
    text = json.dumps(value, separators=(",", ":"))
    if len(text) <= MAX_PROPERTY_LENGTH:
        return text
    return json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest(), "characters": len(text)})
