"""``status``: where connectors are, asked of Kafka and of their tables now."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from floe.cli.airflow_lookup import dead_parts
from floe.cli.connectors import find_connectors
from floe.cli.output import columns, print_json, print_line
from floe.config.connector_files import ConnectorFile
from floe.status.connector_status import ConnectorStatus, PartitionStatus, TableStatus
from floe.status.summary import backlog_lines, counted, lag_text

_CLEAR = "\x1b[2J\x1b[H"


def run(options: argparse.Namespace) -> int:
    """Show the status of connectors; 1 where one has a problem. Raises UsageError."""
    while True:
        files = find_connectors(options.connectors, options.folder)
        code = _show(files, options)
        if options.watch is None:
            return code
        time.sleep(options.watch)
        if sys.stdout.isatty() and not options.json:
            sys.stdout.write(_CLEAR)


def _show(files: Sequence[ConnectorFile], options: argparse.Namespace) -> int:
    from floe.status.connector_status import ConnectorStatus

    dead = dead_parts()
    found = [_status(file, options) for file in files]
    if options.json:
        print_json([_with_problems(one, dead) for one in found])
    else:
        for text in dead:
            print_line(f"problem: {text}")
        for one in found:
            lines = status_lines(one) if isinstance(one, ConnectorStatus) else _broken_lines(one)
            for line in lines:
                print_line(line)
    return 1 if not files or dead or any(_has_problem(one) for one in found) else 0


def _with_problems(one: Any, more: tuple[str, ...]) -> Any:
    """Return a status, or what is known of a broken file, as JSON, with the problems that all connectors have."""
    fields = one if isinstance(one, dict) else one.to_json()
    return {**fields, "problems": [*more, *fields["problems"]]}


def _broken_lines(one: dict[str, Any]) -> Iterator[str]:
    yield f"{one['name']}: the connector file cannot be used"
    yield from (f"  problem: {text}" for text in one["problems"])


def _status(file: ConnectorFile, options: argparse.Namespace) -> Any:
    """Return a ConnectorStatus; of a broken file, its name and its problems."""
    if file.connector is None:
        return {"name": file.name, "problems": list(file.error.problems if file.error else ())}
    from floe.cli.settings import look_up
    from floe.status.reader import collect, latest

    found = look_up(file.connector)
    lacking = {**found.unknown, **found.unusable}
    whys = tuple(why for part, why in lacking.items() if part in ("kafka", "catalog"))
    if found.settings is None:
        status = latest(found.connector, commits=options.commits)
    else:
        status = collect(found.connector, found.settings, dead_letters=options.dead_letters, commits=options.commits)
    return replace(status, problems=(*whys, *status.problems))


def _has_problem(one: Any) -> bool:
    if isinstance(one, dict):
        return True
    parts = (*(one.partitions or ()), *(one.tables or ()))
    return bool(one.problems or one.backlog or any(part.problem for part in parts))


# A connector's status as lines for a terminal.


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
