"""The history of a connector: one point a minute, bounded, and no row counted twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from floe.status.record import Point, StatusRecord
from floe.status.record_codec import LONGEST, MAX_POINTS, new_rows, thinned, with_point
from tests.support.status.records import MINUTE, NOW, commit, status, table


def test_points_of_one_minute_are_one() -> None:
    history = with_point((), NOW, 5, 1)
    history = with_point(history, NOW + timedelta(seconds=10), 3, 2)
    assert history == (Point(NOW, 3, 3),)
    assert len(with_point(history, NOW + MINUTE, 0, 0)) == 2


def test_history_is_bounded_and_loses_no_rows() -> None:
    history: tuple[Point, ...] = ()
    for minute in range(2_000):
        history = with_point(history, NOW + minute * MINUTE, minute, 1)
        assert len(history) <= MAX_POINTS
    assert sum(point.rows for point in history) == 2_000
    assert [point.at for point in history] == sorted(point.at for point in history)
    assert history[-1].lag == 1_999
    newest = history[-60:]
    assert newest[-1].at - newest[0].at == 59 * MINUTE, "the newest hour has each of its minutes"


def test_points_that_are_too_old_or_of_the_future_are_dropped() -> None:
    history = (Point(NOW - LONGEST - MINUTE, 1, 1), Point(NOW - MINUTE, 2, 2), Point(NOW + MINUTE, 3, 3))
    assert with_point(history, NOW, 4, 4) == (Point(NOW - MINUTE, 2, 2), Point(NOW, 4, 4))


@given(st.integers(0, 700), st.integers(2, 300))
def test_thinned_has_at_most_so_many(count: int, most: int) -> None:
    history = tuple(Point(NOW + i * MINUTE, i, 1) for i in range(count))
    found = thinned(history, most)
    assert len(found) <= most
    assert sum(point.rows for point in found) == count
    assert max((point.lag or 0 for point in found), default=0) == max(0, count - 1)


def test_rows_of_commits_are_counted_once() -> None:
    first = status(NOW, 0, table("db.t", commit(1, NOW)))
    former = StatusRecord(first)
    assert new_rows(None, first, None) == 0, "older than what is kept"
    assert new_rows(former, first, None) == 0
    second = status(
        NOW + MINUTE, 0, table("db.t", commit(2, NOW + MINUTE, 7), commit(1, NOW)), table("db.dead", commit(9))
    )
    assert new_rows(former, second, "db.dead") == 7
    assert new_rows(former, second, None) == 17
    assert new_rows(StatusRecord(second), second, None) == 0


def test_old_commits_that_come_into_sight_are_not_new() -> None:
    former = StatusRecord(status(NOW, 0, table("db.t", commit(1, NOW))))
    old = status(NOW + MINUTE, 0, table("db.t", commit(1, NOW)), table("db.u", commit(5, NOW - timedelta(hours=1))))
    assert new_rows(former, old, None) == 0
    away = StatusRecord(replace(former.status, tables=None))
    again = status(NOW + MINUTE, 0, table("db.t", commit(2, NOW + MINUTE, 7), commit(1, NOW)))
    assert new_rows(away, again, None) == 7
    assert new_rows(former, replace(again, tables=None), None) == 0
