"""The age of the oldest unread record, and the time until it is removed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from floe.kafka.access import NotPermitted
from floe.model.offsets import TopicPartition
from floe.status import record_reader as module
from floe.status.connector_status import PartitionStatus
from floe.status.record_reader import MAX_PARTITIONS, UnreadAge
from tests.support.status.records import NOW

NOW_MS = int(NOW.timestamp() * 1000)
HOUR_MS = 3_600_000
Asked = dict[TopicPartition, int]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Where records were read: each of them is as many hours old as its partition's number."""
    found: Asked = {}

    def times(_: object, starts: Mapping[TopicPartition, int], __: float) -> dict[TopicPartition, int]:
        found.update(starts)
        return {tp: NOW_MS - tp.partition * HOUR_MS for tp in starts}

    monkeypatch.setattr(module, "record_times", times)
    keep(monkeypatch, {"a": 5 * HOUR_MS, "b": None})
    return found


def keep(patch: pytest.MonkeyPatch, retention: Mapping[str, int | None] | Exception) -> None:
    def retention_ms(topic: str) -> int | None:
        if isinstance(retention, Exception):
            raise retention
        return retention[topic]

    cluster = SimpleNamespace(retention_ms=retention_ms)
    patch.setattr(module, "Cluster", SimpleNamespace(of_source=lambda _: cluster))


def of(*partitions: PartitionStatus) -> UnreadAge:
    settings: Any = None
    return UnreadAge.of(partitions, settings, NOW)


def unread(topic: str, partition: int, committed: int | None = 7, lag: int = 2) -> PartitionStatus:
    return PartitionStatus(topic, partition, committed, 3, 9, lag)


def test_oldest_unread_record_counts(asked: Asked) -> None:
    assert of(unread("a", 1), unread("a", 2), unread("a", 9, lag=0)) == UnreadAge(7_200.0, 3 * 3_600.0)
    assert asked == {TopicPartition("a", 1): 7, TopicPartition("a", 2): 7}


def test_what_was_lost_is_not_asked_for(asked: Asked) -> None:
    of(unread("a", 1, committed=1), unread("a", 2, committed=None))
    assert asked == {TopicPartition("a", 1): 3, TopicPartition("a", 2): 3}


def test_topic_that_keeps_its_records_loses_none(asked: Asked) -> None:
    assert of(unread("b", 2)) == UnreadAge(7_200.0, None)
    assert of(unread("b", 9), unread("a", 1)) == UnreadAge(9 * 3_600.0, 4 * 3_600.0)


def test_record_that_is_overdue_has_no_time_left(asked: Asked) -> None:
    assert of(unread("a", 8)).seconds_until_lost == 0.0


def test_record_of_the_future_has_no_age(asked: Asked) -> None:
    settings: Any = None
    assert UnreadAge.of([unread("b", 0)], settings, NOW - timedelta(hours=1)).lag_seconds == 0.0


def test_nothing_unread_has_no_age(asked: Asked) -> None:
    assert of() == of(unread("a", 1, lag=0)) == UnreadAge()


def test_configuration_that_may_not_be_seen_is_not_known(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(monkeypatch, NotPermitted("no DescribeConfigs"))
    assert of(unread("a", 2)) == UnreadAge(7_200.0, None)


def test_few_of_many_partitions_are_asked(asked: Asked) -> None:
    of(*(unread("a", p, lag=p) for p in range(1, 1_001)))
    assert sorted(tp.partition for tp in asked) == list(range(1_001 - MAX_PARTITIONS, 1_001))
