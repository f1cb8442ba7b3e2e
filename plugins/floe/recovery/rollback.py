"""Rollbacks: which offsets a table lost when its owner set its branch back to an older snapshot."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from floe.model.holding import LogId
from floe.model.ledger import Anchor, Ledger
from floe.model.ledger_codec import property_name, read_properties
from floe.model.offsets import Intervals, OffsetRange, ranges_from_json
from floe.model.route_hash import KAFKA_CONNECT_ROUTE, MAIN_BRANCH, moved_route, route_hash
from floe.tables.exceptions import TableRefused
from floe.tables.history import (
    BRANCH,
    GROUP,
    NEW_OFFSETS,
    RECOVERED,
    REPLACED,
    ROUTE,
    SLICE,
    SnapshotGraph,
    branch_history,
    check_history,
    check_table_history,
    is_before,
    older_metadata,
    snapshot_property,
)
from floe.tables.snapshot_summary import PREFIX

Lost = Mapping[LogId, Intervals]


@dataclass(frozen=True)
class UnknownLoss:
    """A source that does not show what was lost, and why."""

    why: str


def rolled_back(table: Table, branch: str, group_id: str, ledger: Ledger) -> Lost | None:
    """Return the offsets that a ledger claims and that are gone from the branch; None when nothing was rolled back.

    They come from the summaries of the snapshots that were left behind; where those have expired, from the ledger as
    it was when the branch's head was made, in an older metadata file. Raises TableRefused when neither shows them.
    """
    metadata = table.metadata
    if check_table_history(table, branch, group_id, ledger).leads_back:
        return None
    if branch not in metadata.refs:
        msg = (
            f"branch {branch!r} of table {'.'.join(table.name())!r} was dropped. Create it again at snapshot "
            f"{ledger.anchor.snapshot_id if ledger.anchor else None}"
        )
        raise TableRefused(msg, code="FLOE-408")
    by_summaries = _from_summaries(metadata, branch, group_id, ledger)
    lost = (
        _from_older_metadata(table, branch, group_id, ledger) if isinstance(by_summaries, UnknownLoss) else by_summaries
    )
    if isinstance(lost, UnknownLoss):
        reasons = f"{by_summaries.why}, and {lost.why}" if isinstance(by_summaries, UnknownLoss) else lost.why
        msg = (
            f"table {'.'.join(table.name())!r} was rolled back, and floe cannot find out which offsets it lost: {reasons}. "
            'Set the branch forward again, or trigger the DAG with rolled_back={"<table>": "accept"} and replay what is '
            "missing."
        )
        raise TableRefused(msg, code="FLOE-408")
    if any(_of_the_sink(ledger, log_id) & gone for log_id, gone in lost.items()):
        msg = (
            f"table {'.'.join(table.name())!r} was rolled back to before the takeover. floe cannot determine which offsets "
            "the removed Kafka Connect rows covered, and reading the whole range again would duplicate the rows that remain. "
            'Set the branch forward again, or trigger the DAG with rolled_back={"<table>": "accept"} and replay what is '
            "missing with overlap=append."
        )
        raise TableRefused(msg, code="FLOE-408")
    return lost


def left_replacement(table: Table, branch: str, group_id: str, ledger: Ledger) -> str | None:
    """Return the slice of a replacement that a rollback left behind, as far as its snapshot is retained."""
    graph, anchor = SnapshotGraph.of(table.metadata), ledger.anchor
    kept = {s.snapshot_id for s in graph.branch(branch)}
    for snapshot in graph.line(anchor.snapshot_id) if anchor is not None else ():
        if snapshot.snapshot_id in kept:
            return None
        if snapshot_property(snapshot, GROUP) == group_id and snapshot_property(snapshot, REPLACED) is not None:
            return snapshot_property(snapshot, SLICE)
    return None


def with_gained(table: Table, branch: str, group_id: str, ledger: Ledger, to: Ledger) -> Ledger:
    """Return ``to`` with what the branch contains of this group beside the history that ``ledger`` refers to.

    There is some when a rollback was undone, or when a branch was set to the head of another one. Raises TableRefused
    when a summary does not name it, or one that would has expired.
    """
    graph = SnapshotGraph.of(table.metadata)
    line = set() if ledger.anchor is None else {s.snapshot_id for s in graph.line(ledger.anchor.snapshot_id)}
    history = list(graph.branch(branch)) if line else []
    gained = list(takewhile(lambda s: s.snapshot_id not in line, history))
    _check_no_gap(table, ledger.anchor, history[: len(gained) + 1])
    for snapshot in reversed(gained):
        if snapshot_property(snapshot, GROUP) != group_id:
            continue
        new_offsets, recovered, replaced = (_offsets(snapshot, name) for name in (NEW_OFFSETS, RECOVERED, REPLACED))
        topics = {r.topic for r in (*(new_offsets or ()), *(replaced or ()))}
        here = _routes(snapshot, branch, topics, ledger.routes())
        if new_offsets is None or recovered is None or replaced is None or here is None:
            msg = (
                f"table {'.'.join(table.name())!r}: floe cannot determine which offsets snapshot {snapshot.snapshot_id} "
                "added: its summary does not contain all, and it is not in the history that the ledger refers to. Nothing "
                f"was changed. Set the branch to {ledger.anchor.snapshot_id if ledger.anchor else None} again."
            )
            raise TableRefused(msg, code="FLOE-408")
        to = to.with_replaced((r, here[r.topic]) for r in replaced)
        to = to.with_replayed((r, here[r.topic]) for r in new_offsets).with_recovered(_by_log(recovered))
    return to


def _check_no_gap(table: Table, anchor: Anchor | None, history: Sequence[Snapshot]) -> None:
    """Raise TableRefused when snapshots in between have expired that the ledger's connector may have made.

    Each of its commits moves the ledger: what it made has no higher number than the anchor.
    """
    for snapshot, ancestor in pairwise(history):
        is_gap = snapshot.parent_snapshot_id != ancestor.snapshot_id
        if is_gap and anchor is not None and is_before(ancestor, anchor.sequence_number):
            msg = (
                f"table {'.'.join(table.name())!r}: the snapshots between {ancestor.snapshot_id} and "
                f"{snapshot.snapshot_id} have expired, and are not in the history that the ledger refers to. floe cannot "
                f"determine which offsets they added. Nothing was changed. Set the branch to {anchor.snapshot_id} again."
            )
            raise TableRefused(msg, code="FLOE-408")


def _routes(snapshot: Snapshot, branch: str, topics: Iterable[str], known: Iterable[str]) -> dict[str, str] | None:
    """Return by topic the route hash of a snapshot's offsets, as ``branch`` calls it; None when its summary has others."""
    try:
        message = json.loads(snapshot_property(snapshot, ROUTE) or "{}")
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict) or not all(isinstance(route, str) for route in message.values()):
        return None
    was = snapshot_property(snapshot, BRANCH) or branch
    return {
        topic: moved_route(
            message.get(topic, route_hash(topic, was)), was, branch, {route_hash(topic, MAIN_BRANCH), *known}
        )
        for topic in topics
    }


def _of_the_sink(ledger: Ledger, log_id: LogId) -> Intervals:
    return (
        ledger.holdings[log_id].held.get(KAFKA_CONNECT_ROUTE, Intervals()) if log_id in ledger.holdings else Intervals()
    )


def _from_summaries(metadata: TableMetadata, branch: str, group_id: str, ledger: Ledger) -> Lost | UnknownLoss:
    """Add up the new offsets of the snapshots between the anchor and the history that is left."""
    anchor = ledger.anchor
    graph = SnapshotGraph.of(metadata)
    history = list(graph.branch(branch))
    kept = {s.snapshot_id for s in history}
    first: Snapshot | None = None
    added: list[OffsetRange] = []
    at = anchor.snapshot_id if anchor is not None else None
    while at is not None and at not in kept:
        snapshot = graph.snapshots.get(at)
        if snapshot is None:
            return UnknownLoss(f"snapshot {at} has expired")
        if snapshot_property(snapshot, GROUP) == group_id:
            new_offsets = _offsets(snapshot, NEW_OFFSETS)
            if new_offsets is None:
                return UnknownLoss(f"the summary of snapshot {at} does not contain all of its offsets")
            added += new_offsets
        elif snapshot.summary is not None and any(n.startswith(PREFIX) for n in snapshot.summary.additional_properties):
            return UnknownLoss(f"snapshot {at} is of a Kafka Connect sink, which names no offsets")
        first, at = snapshot, snapshot.parent_snapshot_id
    lost = _by_log(added)
    is_cut_off = at is None and first is not None and _may_be_behind(history[-1], first)
    # PyIceberg's expiry removes the parent's id: there may have been more
    if is_cut_off or (at is None and lost != _difference(ledger, Ledger(ledger.cluster_id))):
        return UnknownLoss("snapshots before those that were removed have expired")
    return lost


def _may_be_behind(oldest: Snapshot, one: Snapshot) -> bool:
    """Return whether a history whose ``oldest`` snapshot has a parent that is gone may have led to ``one`` by it."""
    return oldest.parent_snapshot_id is not None and is_before(one, oldest.sequence_number)


def _offsets(snapshot: Snapshot, name: str) -> tuple[OffsetRange, ...] | None:
    """Read offsets out of a summary; None when only a digest of them is there, or what floe never wrote."""
    try:
        fields = json.loads(snapshot_property(snapshot, name) or "{}")
        return None if "sha256" in fields else ranges_from_json(fields)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return None


def _by_log(ranges: Iterable[OffsetRange]) -> dict[LogId, Intervals]:
    spans: dict[LogId, list[tuple[int, int]]] = {}
    for r in ranges:
        spans.setdefault(LogId.of(r), []).append((r.start, r.end))
    return {log_id: Intervals.of(s) for log_id, s in spans.items()}


def _from_older_metadata(table: Table, branch: str, group_id: str, ledger: Ledger) -> Lost | UnknownLoss:
    """Compare the ledger with the one of the time when the newest snapshot that is left was the branch's head."""
    metadata = table.metadata
    kept = [s.snapshot_id for s in branch_history(metadata, branch)]
    for older in older_metadata(table):
        ref = older.refs.get(branch)
        if ref is None or ref.snapshot_id not in kept:
            continue
        then = read_properties(property_name(group_id, branch), older.properties)
        if then is None and not _has_snapshots(older, branch, group_id):
            return _difference(ledger, Ledger(ledger.cluster_id))
        # a table that was rolled back before had a ledger that referred to more than its branch contained
        if then is not None and check_history(older, branch, group_id, then).leads_back:
            # what it contained and was removed from the ledger since is there again, and no summary may show it
            is_more = bool(_difference(then, ledger))
            return (
                UnknownLoss("the ledger had offsets then that it has no more") if is_more else _difference(ledger, then)
            )
    return UnknownLoss("no metadata file of the branch's present snapshot is kept")


def _has_snapshots(metadata: TableMetadata, branch: str, group_id: str) -> bool:
    return any(snapshot_property(s, GROUP) == group_id for s in branch_history(metadata, branch))


def _difference(now: Ledger, then: Ledger) -> Lost:
    lost = {}
    for log_id, holding in now.holdings.items():
        before = then.holdings.get(log_id)
        held = Intervals.of(span for spans in holding.held.values() for span in spans)
        kept = Intervals.of(span for spans in (before.held.values() if before else ()) for span in spans)
        recovered = holding.recovered - (before.recovered if before else Intervals())
        if gone := (held - kept) | recovered:
            lost[log_id] = gone
    return lost
