"""Lag and rows over time: a point a minute, the older ones joined, so that their number is bounded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from floe.status.model import CommitStatus, ConnectorStatus
from floe.status.record import Point, StatusRecord

MAX_POINTS: Final = 240
STEP: Final = timedelta(seconds=50)
"""Least time between two points: a run every minute may be some seconds early."""

LONGEST: Final = timedelta(days=30)

_SLACK: Final = timedelta(minutes=5)
"""How far the clocks of two hosts may differ."""


def new_rows(former: StatusRecord | None, status: ConnectorStatus, dead_letters: str | None) -> int:
    """Return the rows of the commits that a former record did not have.

    ``dead_letters``: the dead-letter table, whose rows are not counted. Of a connector's first record, none are new.
    """
    if former is None or status.tables is None:
        return 0
    known = {(name, commit.snapshot_id) for name, commit in _commits(former.status)}
    since = former.status.at - (_SLACK if known else timedelta())
    return sum(
        commit.rows
        for name, commit in _commits(status)
        if name != dead_letters and (name, commit.snapshot_id) not in known and commit.at > since
    )


def with_point(history: tuple[Point, ...], at: datetime, lag: int | None, rows: int) -> tuple[Point, ...]:
    """Return the history with what is known now: as a new point, or in the last one where that is of this minute."""
    at = at.replace(microsecond=0)
    if history and timedelta() <= at - history[-1].at < STEP:
        last = history[-1]
        return (*history[:-1], replace(last, lag=lag, rows=last.rows + rows))
    kept = tuple(point for point in history if at - LONGEST <= point.at < at)
    return thinned((*kept, Point(at, lag, rows)), MAX_POINTS)


def thinned(history: tuple[Point, ...], most: int) -> tuple[Point, ...]:
    """Return at most so many points: in the older half, each two become one, again where that is not enough."""
    while len(history) > most:
        half = max(2, len(history) // 2 // 2 * 2)
        pairs = zip(history[0:half:2], history[1:half:2], strict=True)
        history = (*(_joined(first, second) for first, second in pairs), *history[half:])
    return history


def _joined(first: Point, second: Point) -> Point:
    lags = [lag for lag in (first.lag, second.lag) if lag is not None]
    return Point(second.at, max(lags, default=None), first.rows + second.rows)


def _commits(status: ConnectorStatus) -> Iterator[tuple[str, CommitStatus]]:
    return ((table.name, commit) for table in status.tables or () for commit in table.commits)
