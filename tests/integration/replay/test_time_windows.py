"""Replays of times instead of offsets."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import confluent_kafka as ck
import pytest

from floe.model.exceptions import PlanRefused
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.replays import drafted, drop, replay, trace

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def at(minutes: float) -> str:
    return (NOON + timedelta(minutes=minutes)).isoformat()


@pytest.fixture
def timed(pipeline: MakePipeline) -> Pipeline:
    """A connector that has read 60 records whose timestamps, in minutes, are out of order."""
    pizzas = pipeline(partitions=2)
    producer = ck.Producer({"bootstrap.servers": pizzas.bootstrap})
    for i in range(60):
        minute = i // 2 + (7 if i % 5 == 0 else 0)
        moment = int((NOON + timedelta(minutes=minute)).timestamp() * 1000)
        producer.produce(pizzas.topic, json.dumps({"id": i}).encode(), partition=i % 2, timestamp=moment)
    assert producer.flush(30) == 0
    pizzas.run()
    return pizzas


def test_adjacent_time_windows_replay_every_record_once(timed: Pipeline) -> None:
    drop(timed)
    cuts = [None, at(-10), at(0), at(3), at(3.5), at(12), at(29), at(36), at(50), None]
    for start, end in pairwise(cuts):
        try:
            replay(timed, from_time=start, to_time=end)
        except PlanRefused as error:
            assert "has a time" in str(error)
    assert timed.column("id") == list(range(60))


def test_a_window_begins_with_the_first_record_at_or_after_it(timed: Pipeline) -> None:
    ranges = {f.range.partition: (f.range.start, f.range.end) for f in drafted(timed, from_time=at(10)).forecasts}
    # id 10 is of minute 5 + 7: in the even partition it comes before those of minute 10
    assert ranges == {0: (5, 30), 1: (7, 30)}
    ranges = {f.range.partition: (f.range.start, f.range.end) for f in drafted(timed, to_time=at(10)).forecasts}
    assert ranges == {0: (0, 5), 1: (0, 7)}


def test_a_window_stops_at_what_was_read(timed: Pipeline) -> None:
    timed.produce([{"id": 99}], partition=0)
    assert {f.range.end for f in drafted(timed, from_time=at(10), to_time="2999-01-01T00:00:00Z").forecasts} == {30}


@pytest.mark.parametrize(
    "times",
    [
        {"from_time": "2999-01-01T00:00:00Z"},
        {"from_time": "2999-01-01T00:00:00Z", "to_time": "9999-12-31T23:59:59Z"},
        {"to_time": "1960-01-01T00:00:00Z"},
        {"from_time": "1950-01-01T00:00:00Z", "to_time": "1960-01-01T00:00:00Z"},
    ],
)
def test_a_window_in_the_future_or_before_time_is_refused(timed: Pipeline, times: dict[str, str]) -> None:
    before = trace(timed)
    with pytest.raises(PlanRefused, match=r"has a time|is not before"):
        drafted(timed, **times)
    assert trace(timed) == before
