"""A status in few lines and in small JSON: totals, the worst, and how many more there are."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from floe.config.secrets.mask import clip
from floe.status.connector_status import Backlog, ConnectorStatus, PartitionStatus

MAX_SHOWN = 20
"""Partitions, tables and reasons that are named one by one, in a log or in JSON."""

WIDTH = 120
"""Characters of a line in a log."""


class LogLine(NamedTuple):
    """A line of a log, with its level."""

    level: int
    text: str


def info(text: str) -> LogLine:
    """Return a text as a line of level INFO."""
    return LogLine(logging.INFO, line(text))


def line(text: str) -> str:
    """Return a text as one line of a log: its control characters as spaces, without secrets, not too wide."""
    return clip("".join(one if one.isprintable() else " " for one in text), WIDTH)


def counted(number: int, noun: str) -> str:
    """Write a number with separators and its noun: ``1 record``, ``1,250 records``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def worst(partitions: Iterable[PartitionStatus]) -> list[PartitionStatus]:
    """Return the partitions with the largest lag, the largest first; none without lag."""
    return heapq.nsmallest(MAX_SHOWN, (one for one in partitions if one.lag), key=lambda one: (-one.lag, one.tp))


def lag_text(partitions: Sequence[PartitionStatus]) -> str:
    """Return the lag of all partitions in one phrase."""
    behind = sum(1 for one in partitions if one.lag)
    lag = counted(sum(one.lag for one in partitions), "record")
    where = counted(len(partitions), "partition")
    return f"lag: {lag} in {behind:,} of {where}" if behind else f"lag: {lag} in {where}"


def lag_lines(status: ConnectorStatus) -> Iterator[str]:
    """Yield the lag of a connector: of all its partitions, and of the worst of them."""
    if status.partitions is None:
        return
    yield line(lag_text(status.partitions))
    shown = worst(status.partitions)
    for one in shown:
        yield line(f"  {one.tp}: {counted(one.lag, 'record')}, committed {one.committed}, log end {one.end}")
    others = sum(1 for one in status.partitions if one.lag) - len(shown)
    if others:
        left = (status.lag or 0) - sum(one.lag for one in shown)
        yield line(f"  and {counted(others, 'more partition')} with {counted(left, 'record')}")


def backlog_lines(backlog: Sequence[Backlog]) -> Iterator[str]:
    """Yield which tables are behind the others, and where; the worst first."""
    tables = _by_table(backlog)
    shown = heapq.nsmallest(MAX_SHOWN, tables.items(), key=lambda item: (-sum(map(len, item[1])), item[0]))
    for name, backlogs in shown:
        ranges = ", ".join(f"{one.tp}[{one.start}, {one.end})" for one in backlogs[:MAX_SHOWN])
        many = counted(len(backlogs), "partition")
        yield line(f"table {name} is behind by {counted(sum(map(len, backlogs)), 'record')} of {many}: {ranges}")
    if len(tables) > len(shown):
        yield line(f"and {counted(len(tables) - len(shown), 'more table')} are behind")


def lag_json(status: ConnectorStatus) -> dict[str, Any] | None:
    """Return the lag as JSON, of the worst partitions one by one; None where it is not known."""
    if status.partitions is None:
        return None
    shown = worst(status.partitions)
    behind = sum(1 for one in status.partitions if one.lag)
    lost = sum(one.lost.offsets for one in status.partitions)
    return {
        "records": status.lag,
        "partitions": len(status.partitions),
        "behind": behind,
        **({"lost": lost} if lost else {}),
        "worst": [one.to_json() | {"lost": one.lost.offsets} if one.lost else one.to_json() for one in shown],
        "more": behind - len(shown),
    }


def backlog_json(backlog: Sequence[Backlog]) -> dict[str, Any]:
    """Return the backlog as JSON, by table, the worst ones."""
    tables = {name: (len(backlogs), sum(map(len, backlogs))) for name, backlogs in _by_table(backlog).items()}
    shown = heapq.nsmallest(MAX_SHOWN, tables.items(), key=lambda item: (-item[1][1], item[0]))
    return {
        "records": sum(records for _, records in tables.values()),
        "tables": {name: {"partitions": partitions, "records": records} for name, (partitions, records) in shown},
        "more": len(tables) - len(shown),
    }


def _by_table(backlog: Iterable[Backlog]) -> dict[str, list[Backlog]]:
    tables: dict[str, list[Backlog]] = {}
    for one in backlog:
        tables.setdefault(one.table, []).append(one)
    return tables
