"""Events of the control topic: what floe and Java wrote is shown, anything else is passed over."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floe.config.secrets.mask import learn
from floe.control import headers as h
from floe.control.topic_reader import ControlMessage
from floe.control.wire.codec import encode
from floe.control.wire.events import (
    CommitComplete,
    DataFile,
    DataWritten,
    Event,
    Payload,
    StartCommit,
    TableReference,
)
from floe.model.offsets import PartitionLog, TopicPartition
from floe.status import control_events as module
from floe.status.control_events import MAX_EVENTS, MAX_FILES, MAX_OFFSETS, control_events, event_of
from floe.status.record import ControlEvent
from tests.support.control.messages import GOLDENS

GROUP = "connect-one"
TOPIC = "control"
AT = datetime(2026, 1, 2, tzinfo=UTC)
CONNECTOR: Any = SimpleNamespace(control_topic=TOPIC, group_id=GROUP)


def message(payload: Payload, offset: int = 0, group: str = GROUP, **headers: str) -> ControlMessage:
    return ControlMessage(0, offset, group, encode(Event(uuid4(), AT, group, payload)), headers)


def written(files: int, path: str = "s3://w/a") -> DataWritten:
    found = tuple(
        DataFile(file_path=f"{path}-{i}.parquet", record_count=3, file_size_in_bytes=99) for i in range(files)
    )
    return DataWritten(uuid4(), TableReference("c", ("db",), "t"), found)


class Topic:
    """A control topic of one partition, and what was read of it."""

    def __init__(self, messages: list[ControlMessage], end: int, start: int = 0) -> None:
        self.messages, self.end, self.start = messages, end, start
        self.read: list[tuple[int, int]] = []

    def install(self, patch: pytest.MonkeyPatch) -> None:
        log = PartitionLog(TopicPartition(TOPIC, 0), "T", self.start, self.end)
        cluster = SimpleNamespace(topics=lambda names: names, logs=lambda _: (log,))
        patch.setattr(module, "Cluster", SimpleNamespace(of_control=lambda _: cluster))
        patch.setattr(module, "read_control", self.between)

    def between(self, _: object, topic: str, starts: dict[int, int], ends: dict[int, int], key: str) -> Any:
        assert (topic, key) == (TOPIC, GROUP)
        self.read.append((starts[0], ends[0]))
        return (one for one in self.messages if starts[0] <= one.offset < ends[0])


def test_event_has_its_files_and_its_slice() -> None:
    payload = written(2)
    found = event_of(message(payload, 7, **{h.SLICE: "p/0"}), GROUP)
    assert found is not None
    assert (found.kind, found.offset, found.slice_id, found.at) == ("DATA_WRITTEN", 7, "p/0", AT)
    assert found.commit_id == str(payload.commit_id)
    assert [(one.table, one.path, one.rows, one.size) for one in found.files] == [
        ("db.t", "s3://w/a-0.parquet", 3, 99),
        ("db.t", "s3://w/a-1.parquet", 3, 99),
    ]


def test_event_of_many_files_counts_the_others() -> None:
    found = event_of(message(written(500)), GROUP)
    assert found is not None
    assert (len(found.files), found.more_files) == (MAX_FILES, 500 - MAX_FILES)


def test_long_paths_keep_their_ends_and_no_secret() -> None:
    learn({"s3.secret-access-key": "h1dden-in-a-path"})
    found = event_of(message(written(1, "s3://h1dden-in-a-path/" + "x" * 5_000)), GROUP)
    assert found is not None
    assert found.files[0].path.startswith("…x") and found.files[0].path.endswith("-0.parquet")
    short = event_of(message(written(1, "s3://h1dden-in-a-path/")), GROUP)
    assert short is not None and "h1dden" not in short.files[0].path


def test_events_that_java_wrote_are_shown() -> None:
    found = [
        event_of(ControlMessage(0, i, None, path.read_bytes(), {}), "connect-events-sink")
        for i, path in enumerate(GOLDENS)
    ]
    kinds = {one.kind for one in found if one is not None}
    assert {"DATA_WRITTEN", "DATA_COMPLETE", "START_COMMIT", "COMMIT_TO_TABLE", "COMMIT_COMPLETE"} <= kinds


def test_events_of_other_groups_are_passed_over() -> None:
    assert event_of(message(StartCommit(uuid4()), group="connect-two"), GROUP) is None


@given(st.binary(max_size=200), st.binary(max_size=50))
def test_hostile_records_are_passed_over(raw: bytes, tail: bytes) -> None:
    good = message(written(1)).value
    for value in (raw, good[: len(good) // 2] + tail, good + tail[:1] + b"x"):
        assert event_of(ControlMessage(0, 0, GROUP, value, {h.SLICE: "\x00" * 10_000}), GROUP) is None


def test_record_that_is_too_long_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_EVENT_BYTES", 100)
    assert event_of(message(written(9)), GROUP) is None


def test_newest_events_are_read_first_and_few(monkeypatch: pytest.MonkeyPatch) -> None:
    topic = Topic([message(CommitComplete(uuid4()), i) for i in range(0, 5_000, 2)], 5_000)
    topic.install(monkeypatch)
    found = control_events(CONNECTOR, None)  # type: ignore[arg-type]
    assert [one.offset for one in found] == list(range(4_940, 5_000, 2))[-MAX_EVENTS:]
    assert topic.read == [(4_950, 5_000), (4_900, 4_950)]


def test_topic_without_own_events_is_read_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    topic = Topic([], 100_000)
    topic.install(monkeypatch)
    assert control_events(CONNECTOR, None) == ()  # type: ignore[arg-type]
    assert topic.read[-1][0] == 100_000 - MAX_OFFSETS


def test_large_records_end_the_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    topic = Topic([message(CommitComplete(uuid4()), i) for i in range(500)], 500)
    topic.install(monkeypatch)
    monkeypatch.setattr(module._Budget, "__init__", lambda self: self.__dict__.update(bytes=10, until=float("inf")))
    assert len(control_events(CONNECTOR, None)) == 1  # type: ignore[arg-type]
    assert len(topic.read) == 1


def known(*offsets: int) -> tuple[ControlEvent, ...]:
    return tuple(ControlEvent(0, offset, AT, "START_COMMIT") for offset in offsets)


def test_known_events_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    topic = Topic([message(CommitComplete(uuid4()), i) for i in (10, 20, 30)], 32, start=15)
    topic.install(monkeypatch)
    found = control_events(CONNECTOR, None, known(10, 20))  # type: ignore[arg-type]
    assert [(one.offset, one.kind) for one in found] == [(20, "START_COMMIT"), (30, "COMMIT_COMPLETE")]
    assert topic.read == [(21, 32)]


def test_known_events_of_a_topic_that_is_gone_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    topic = Topic([message(CommitComplete(uuid4()), 1)], 3)
    topic.install(monkeypatch)
    assert [one.offset for one in control_events(CONNECTOR, None, known(10))] == [1]  # type: ignore[arg-type]
