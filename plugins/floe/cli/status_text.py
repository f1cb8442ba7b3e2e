"""A connector's status as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from floe.cli.output import columns
from floe.status.model import ConnectorStatus, PartitionStatus, TableStatus
from floe.status.summary import backlog_lines, counted, lag_text

MAX_PARTITIONS = 50
"""Partitions that are shown: those with problems first, then the largest lags."""


def status_lines(status: ConnectorStatus) -> Iterator[str]:
    """Yield a connector's status: its lag by partition, its backlog, its tables and its problems."""
    yield f"{status.name}  (group {status.group_id}, {_time(status.at)})"
    for problem in status.problems:
        yield f"  problem: {problem}"
    if status.partitions is None:
        yield "  lag: not known"
    else:
        yield f"  {lag_text(status.partitions)}"
        yield from _partitions(status.partitions)
    for line in backlog_lines(status.backlog):
        yield f"  {line}"
    if status.tables is None:
        yield "  tables: not known"
    for table in status.tables or ():
        yield from _table(table, status.at)


def _partitions(partitions: Iterable[PartitionStatus]) -> Iterator[str]:
    ordered = sorted(partitions, key=lambda one: (not one.problem, -one.lag, one.tp))
    shown = ordered[:MAX_PARTITIONS]
    if not shown:
        return
    rows = [("partition", "committed", "log start", "end", "lag", "")]
    for one in shown:
        committed = "none" if one.committed is None else str(one.committed)
        lost = f"lost: {counted(one.lost.offsets, 'offset')}" if one.lost else ""
        note = "; ".join(filter(None, (lost, one.problem)))
        rows.append((str(one.tp), committed, str(one.log_start), str(one.end), f"{one.lag:,}", note))
    yield from columns(rows, "    ")
    if len(ordered) > len(shown):
        yield f"    and {counted(len(ordered) - len(shown), 'more partition')}"


def _table(table: TableStatus, now: datetime) -> Iterator[str]:
    branch = f", branch {table.branch}" if table.branch != "main" else ""
    if not table.exists:
        yield f"  table {table.name}{branch}: {table.problem or 'does not exist yet'}"
        return
    yield f"  table {table.name}{branch}: " + "; ".join(_facts(table, now))
    for commit in table.commits:
        yield (
            f"    {_time(commit.at)}  {commit.kind}  {counted(commit.rows, 'row')} in {counted(commit.files, 'file')}"
            f"  snapshot {commit.snapshot_id}"
        )


def _facts(table: TableStatus, now: datetime) -> Iterator[str]:
    if table.problem:
        yield f"problem: {table.problem}"
    yield f"last commit {_age(table.committed_at, now)}" if table.committed_at else "no commit of this connector"
    if table.valid_through:
        yield f"complete up to {_time(table.valid_through)}"
    if table.rows is not None:
        yield f"{counted(table.rows, 'row')} in all"
    if table.open_dead_letters is not None:
        yield counted(table.open_dead_letters, "open dead letter")


def _age(moment: datetime, now: datetime) -> str:
    seconds = max(0, int((now - moment).total_seconds()))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago"


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S %Z")
