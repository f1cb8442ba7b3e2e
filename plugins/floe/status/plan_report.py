"""What a run is to read, in the lines of its plan task's log."""

import heapq
import logging
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from floe.model.plan import Plan, Slice
from floe.model.ranges import TopicPartition
from floe.model.slice_kind import SliceKind
from floe.status.model import ConnectorStatus, PartitionStatus
from floe.status.partitions import backlogs
from floe.status.summary import MAX_SHOWN, Line, backlog_lines, counted, info, lag_text, line

MAX_PREVIEWED = 100
"""Ranges of a dry run that are named one by one, for the page."""


def plan_lines(plan: Plan, status: ConnectorStatus | None) -> Iterator[Line]:
    """Yield what a run reads, and how far behind the connector is. ``status``: None where it could not be looked up."""
    partitions = (status.partitions or ()) if status is not None else ()
    ends = {one.tp: one for one in partitions}
    yield info(f"plan {plan.plan_id}, commit id {plan.commit_id}, group {plan.group_id}")
    for text in backlog_lines(backlogs(plan.positions)):
        yield Line(logging.WARNING, text)
    yield from islice(_limit_lines(plan), MAX_SHOWN)
    if not plan.slices:
        for position in plan.positions[:MAX_SHOWN]:
            yield info(f"  {position.tp}: nothing new above {position.offset}")
        if len(plan.positions) > MAX_SHOWN:
            yield info(f"  and {counted(len(plan.positions) - MAX_SHOWN, 'more partition')}")
    for slice_ in plan.slices[:MAX_SHOWN]:
        yield from _slice_lines(slice_, ends)
    others = plan.slices[MAX_SHOWN:]
    if others:
        yield info(
            f"and {counted(len(others), 'more slice')} with {counted(sum(one.records for one in others), 'offset')}"
        )
    if partitions:
        new = sum(slice_.records for slice_ in plan.slices if slice_.kind is SliceKind.LIVE)
        reads = f"; this run reads {counted(new, 'offset')} of them" if new else ""
        yield info(lag_text(partitions) + reads)


def preview_json(plan: Plan) -> dict[str, Any]:
    """Return what a run would read as JSON: sums, and the largest ranges of many."""
    ranges = [(slice_, r) for slice_ in plan.slices for r in slice_.ranges if len(r)]
    shown = heapq.nsmallest(MAX_PREVIEWED, ranges, key=lambda one: (-len(one[1]), one[1].tp))
    return {
        "read": sum(len(r) for _, r in ranges),
        "slices": len(plan.slices),
        "partitions": [
            {
                "partition": str(r.tp),
                "range": [r.start, r.end],
                "read": len(r),
                "kind": slice_.kind.value,
                "tables": ", ".join(slice_.tables[:MAX_SHOWN]) or "the tables that records name",
            }
            for slice_, r in sorted(shown, key=lambda one: (one[0].index, one[1].tp))
        ],
        "more": len(ranges) - len(shown),
    }


def _limit_lines(plan: Plan) -> Iterator[Line]:
    for name, limit in sorted({item for position in plan.positions for item in position.limits.items()}):
        what = f"table {name!r}" if name else "what is new"
        text = f"at most {counted(limit, 'offset')} are read for {what}: an earlier write took too long"
        yield Line(logging.WARNING, line(text))


def _slice_lines(slice_: Slice, ends: Mapping[TopicPartition, PartitionStatus]) -> Iterator[Line]:
    tables = ", ".join(slice_.tables[:MAX_SHOWN]) or "the tables that records name"
    yield info(f"slice {slice_.index} ({slice_.kind}): {counted(slice_.records, 'offset')} for {tables}")
    shown = heapq.nsmallest(MAX_SHOWN, slice_.ranges, key=lambda r: (-len(r), r.tp))
    for r in sorted(shown, key=lambda r: r.tp):
        known = ends.get(r.tp) if slice_.kind is SliceKind.LIVE else None
        after = f", log end {known.end}, lag after this run {max(0, known.end - r.end):,}" if known is not None else ""
        yield info(f"  {r}: {counted(len(r), 'offset')}{after}")
    if len(slice_.ranges) > len(shown):
        left = slice_.records - sum(map(len, shown))
        yield info(f"  and {counted(len(slice_.ranges) - len(shown), 'more partition')} with {counted(left, 'offset')}")
