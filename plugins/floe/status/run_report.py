"""What a run did, in the lines of its commit task's log and in the value that the task returns."""

import heapq
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from floe.commit.run_commit import CommitReport
from floe.model.plan import Plan
from floe.model.slice_kind import SliceKind
from floe.status.model import ConnectorStatus
from floe.status.summary import MAX_SHOWN, Line, backlog_json, counted, info, lag_json, lag_lines, line


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

    def lines(self) -> Iterator[Line]:
        """Yield what is not in the lines of the single tables: the sum of them, dead letters, and the lag."""
        tables = self._tables()
        if len(tables) > 1:
            rows, files = self._added(tables)
            yield info(f"in all: {counted(rows, 'row')} in {counted(files, 'file')} of {counted(len(tables), 'table')}")
        if self.reasons and not any(slice_.kind is SliceKind.REDRIVE for slice_ in self.plan.slices):
            why = ", ".join(f"{count:,} {name}" for name, count in islice(self.reasons.items(), MAX_SHOWN))
            yield Line(logging.WARNING, line(f"dead letters: {counted(sum(self.reasons.values()), 'record')}: {why}"))
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
