"""What a run is to read and what it did, in the lines of its tasks' logs."""

from __future__ import annotations

import heapq
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from floe.commit.run_commit import CommitReport
from floe.model.offsets import TopicPartition
from floe.model.plan import Plan, Slice, SliceKind
from floe.status.connector_status import ConnectorStatus, PartitionStatus
from floe.status.kafka_state import backlogs
from floe.status.summary import (
    MAX_SHOWN,
    LogLine,
    backlog_json,
    backlog_lines,
    counted,
    info,
    lag_json,
    lag_lines,
    lag_text,
    line,
)

# What a run is to read, in the lines of its plan task's log.


MAX_PREVIEWED = 100
"""Ranges of a dry run that are named one by one, for the page."""


def plan_lines(plan: Plan, status: ConnectorStatus | None) -> Iterator[LogLine]:
    """Yield what a run reads, and how far behind the connector is. ``status``: None where it could not be looked up."""
    partitions = (status.partitions or ()) if status is not None else ()
    ends = {one.tp: one for one in partitions}
    yield info(f"plan {plan.plan_id}, commit id {plan.commit_id}, group {plan.group_id}")
    for text in backlog_lines(backlogs(plan.positions)):
        yield LogLine(logging.WARNING, text)
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


def _limit_lines(plan: Plan) -> Iterator[LogLine]:
    for name, limit in sorted({item for position in plan.positions for item in position.limits.items()}):
        what = f"table {name!r}" if name else "what is new"
        text = f"at most {counted(limit, 'offset')} are read for {what}: an earlier write took too long"
        yield LogLine(logging.WARNING, line(text))


def _slice_lines(slice_: Slice, ends: Mapping[TopicPartition, PartitionStatus]) -> Iterator[LogLine]:
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


# What a run did, in the lines of its commit task's log and in the value that the task returns.


@dataclass(frozen=True)
class RunReport:
    """What a commit did, and where the connector is afterwards.

    ``reasons``: of the run's dead letters, the most frequent first. ``status``: None for a replay, which moves no offsets,
    and where it could not be looked up.
    """

    plan: Plan
    report: CommitReport
    reasons: Mapping[str, int] = field(default_factory=dict)
    status: ConnectorStatus | None = None

    def lines(self) -> Iterator[LogLine]:
        """Yield what is not in the lines of the single tables: the sum of them, dead letters, and the lag."""
        tables = self._tables()
        if len(tables) > 1:
            rows, files = self._added(tables)
            yield info(f"in all: {counted(rows, 'row')} in {counted(files, 'file')} of {counted(len(tables), 'table')}")
        if self.reasons and not any(slice_.kind is SliceKind.REDRIVE for slice_ in self.plan.slices):
            why = ", ".join(f"{count:,} {name}" for name, count in islice(self.reasons.items(), MAX_SHOWN))
            yield LogLine(
                logging.WARNING, line(f"dead letters: {counted(sum(self.reasons.values()), 'record')}: {why}")
            )
        if self.status is not None:
            yield from map(info, lag_lines(self.status))

    def to_json(self) -> dict[str, Any]:
        """Return the run in small: sums, the largest tables, and how many more there are."""
        tables = self._tables()
        rows, files = self._added(tables)
        shown = heapq.nsmallest(MAX_SHOWN, tables.items(), key=lambda item: (-item[1]["rows"], item[0]))
        named = dict(islice(self.reasons.items(), MAX_SHOWN))
        return {
            "done_before": self.report.done,
            "commit_id": str(self.plan.commit_id),
            "rows": rows,
            "files": files,
            "tables": dict(shown),
            "more_tables": len(tables) - len(shown),
            "dead_letters": {
                "records": sum(self.reasons.values()),
                "reasons": named,
                "more": len(self.reasons) - len(named),
            },
            "lag": None if self.status is None else lag_json(self.status),
            "backlog": None if self.status is None else backlog_json(self.status.backlog),
        }

    def _tables(self) -> dict[str, dict[str, Any]]:
        """Return what each table got, without the dead-letter table; a table of several slices has its last snapshot."""
        rows: Counter[str] = Counter()
        files: Counter[str] = Counter()
        tables: dict[str, dict[str, Any]] = {}
        for committed in self.report.committed:
            name = committed.table_files.table
            if name == self.plan.dead_letters:
                continue
            rows[name] += committed.counts.rows
            files[name] += committed.table_files.file_count
            tables[name] = {
                "snapshot_id": None if committed.snapshot_id is None else str(committed.snapshot_id),
                "rows": rows[name],
                "files": files[name],
                "committed_before": committed.already,
            }
        return tables

    def _added(self, tables: Mapping[str, Mapping[str, Any]]) -> tuple[int, int]:
        return sum(one["rows"] for one in tables.values()), sum(one["files"] for one in tables.values())
