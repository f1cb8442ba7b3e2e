"""Connectors with an interval run at a second of the minute of their own."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from airflow.serialization.decoders import decode_timetable
from airflow.serialization.encoders import encode_timetable
from airflow.timetables.base import DataInterval, TimeRestriction
from pendulum import DateTime

from floe.airflow_plugin import FloePlugin
from floe.operators.dags.schedule import StaggeredInterval

START = DateTime.instance(datetime(2026, 5, 1, 12, 0, 7, 123_456, UTC))
MINUTE = timedelta(minutes=1)


def runs(
    name: str, delta: timedelta, monkeypatch: pytest.MonkeyPatch, times: list[datetime], last: datetime | None = None
) -> list[datetime]:
    """Return when runs are due that the scheduler creates at these times, one behind the other."""
    timetable = StaggeredInterval(delta, name)
    restriction = TimeRestriction(
        earliest=DateTime.instance(datetime(2024, 1, 1, tzinfo=UTC)), latest=None, catchup=False
    )
    due = []
    for now in times:
        monkeypatch.setattr("airflow.timetables.trigger.utcnow", lambda now=now: now)
        interval = None if last is None else DataInterval.exact(DateTime.instance(last))
        found = timetable.next_dagrun_info(last_automated_data_interval=interval, restriction=restriction)
        assert found is not None
        last = found.run_after
        due.append(last)
    return due


@pytest.mark.parametrize("seconds", [1, 4, 60, 90, 180, 300, 3600, 86_400])
def test_first_run_is_due_at_once_and_the_next_in_the_interval(monkeypatch: pytest.MonkeyPatch, seconds: int) -> None:
    delta = timedelta(seconds=seconds)
    for name in ("a", "pizzas-on-ice", "ü\ud800"):
        first, second, third = runs(name, delta, monkeypatch, [START, START, START])
        assert START - min(delta, MINUTE) < first <= START < second <= START + delta
        assert third - second == delta == second - first


def test_connectors_unpaused_together_are_spread_over_the_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    due = [runs(f"connector-{n}", 3 * MINUTE, monkeypatch, [START, START])[1] for n in range(50)]
    assert max(Counter(int(one.timestamp()) for one in due).values()) <= 5
    assert len({int(one.timestamp()) // 10 for one in due}) >= 6


def test_connectors_overdue_together_are_spread_again(monkeypatch: pytest.MonkeyPatch) -> None:
    back = START + timedelta(hours=5)
    for n in range(50):
        overdue, following = runs(f"c{n}", MINUTE, monkeypatch, [back, back], last=START)
        assert back - MINUTE < overdue <= back < following == overdue + MINUTE


def test_timetable_is_stored_by_the_plugin_and_shown_as_interval() -> None:
    one = StaggeredInterval(3 * MINUTE, "pizzas")
    stored = decode_timetable(encode_timetable(one))
    assert (stored, stored.summary) == (one, "0:03:00")
    assert stored.serialize() == {"interval_ms": 180_000, "name": "pizzas"}
    assert FloePlugin.timetables == [StaggeredInterval]
