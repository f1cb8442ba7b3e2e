"""The connector's commits, read back from the summaries of a branch's snapshots."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from floe.status.model import CommitStatus
from floe.tables.history import GROUP, SLICE, branch_history

MAX_WALKED = 1_000
"""Snapshots of a branch that are looked at for the connector's own: others may commit more often."""

_DIGITS = 19
"""Of a count at most."""


def commits_of(metadata: TableMetadata, branch: str, group_id: str, limit: int) -> tuple[CommitStatus, ...]:
    """Return the newest commits of a group on a branch, the newest first, ``limit`` at most."""
    return tuple(islice(_commits(metadata, branch, group_id), limit))


def rows_of(metadata: TableMetadata, branch: str) -> int | None:
    """Return how many rows a branch has, by the summary of its head; 0 without a snapshot.

    None where the summary does not say, or where equality deletes remove rows that no summary counts.
    """
    ref = metadata.refs.get(branch)
    if ref is None:
        return 0 if not metadata.snapshots else None
    head = metadata.snapshot_by_id(ref.snapshot_id)
    summary = head.summary.additional_properties if head is not None and head.summary is not None else {}
    total, by_position, by_equality = (
        summary.get(f"total-{what}") for what in ("records", "position-deletes", "equality-deletes")
    )
    if not total or not total.isdecimal() or len(total) > _DIGITS or _count(by_equality):
        return None
    return max(0, _count(total) - _count(by_position))


def _commits(metadata: TableMetadata, branch: str, group_id: str) -> Iterator[CommitStatus]:
    for snapshot in islice(branch_history(metadata, branch), MAX_WALKED):
        summary = snapshot.summary.additional_properties if snapshot.summary is not None else {}
        if summary.get(GROUP) == group_id:
            yield _commit(snapshot, summary)


def _commit(snapshot: Snapshot, summary: Mapping[str, str]) -> CommitStatus:
    return CommitStatus(
        snapshot_id=snapshot.snapshot_id,
        at=datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC),
        kind=str(summary.get("floe.kind", "")),
        slice_id=str(summary.get(SLICE, "")),
        rows=_count(summary.get("added-records")),
        files=_count(summary.get("added-data-files")),
        counts=_counts(summary.get("floe.books")),
        valid_through=_moment(summary.get("kafka.connect.valid-through-ts")),
    )


def _count(text: object) -> int:
    return int(text) if isinstance(text, str) and text.isdecimal() and len(text) <= _DIGITS else 0


def _counts(text: str | None) -> dict[str, int]:
    """Return the table's record counts; none where a digest replaces them, or another program wrote them."""
    try:
        counts: Any = json.loads(text or "{}").get("table", {})
        return {str(name): int(count) for name, count in counts.items()}
    except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return {}


def _moment(text: str | None) -> datetime | None:
    try:
        moment = None if text is None else datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo is not None else None
