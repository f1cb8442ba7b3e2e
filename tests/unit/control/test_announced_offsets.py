"""What earlier announcements say that a table may contain."""

import json
from collections.abc import Sequence

import pytest

from floe.control import headers as h
from floe.control import searches as module
from floe.control.topic_reader import ControlMessage
from floe.kafka.settings import KafkaSettings
from floe.model.offsets import OffsetRange, TopicPartition, ranges_to_json

HERE = OffsetRange("pizzas", "T1", 0, 3, 9)
THERE = OffsetRange("pizzas", "T1", 1, 0, 4)


def message(tables: object, ranges: object = None, kind: str = "live") -> ControlMessage:
    given = ranges_to_json([HERE]) if ranges is None else ranges
    headers = {h.TABLES: json.dumps(tables), h.RANGES: json.dumps(given), h.KIND: kind}
    return ControlMessage(0, 0, None, b"", headers)


def announced(
    monkeypatch: pytest.MonkeyPatch, *messages: ControlMessage, names: Sequence[str] = ("db.a", "db.b")
) -> dict[str, set[OffsetRange]]:
    class Cluster:
        @staticmethod
        def of_control(_: object) -> "Cluster":
            return Cluster()

        def log_starts(self, tps: list[TopicPartition]) -> dict[TopicPartition, int]:
            return dict.fromkeys(tps, 0)

    monkeypatch.setattr(module, "Cluster", Cluster)
    monkeypatch.setattr(module, "read_control", lambda *_: iter(messages))
    settings = KafkaSettings.__new__(KafkaSettings)
    return module.announced_ranges(settings, "control", {0: 9}, "g", names)


def test_ranges_of_announcements_with_files_are_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    found = announced(
        monkeypatch,
        message({"db.a": {"files": 1, "rows": 2}, "db.b": {"files": 0, "dead": 2}, "db.c": {"files": 1}}),
        message({"db.a": {"files": 1}}, ranges_to_json([THERE])),
    )
    assert found == {"db.a": {HERE, THERE}}


def test_replacement_without_files_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert announced(monkeypatch, message({"db.a": {"files": 0}}, kind="replace")) == {"db.a": {HERE}}


@pytest.mark.parametrize("name", ["db.café", "db.поле", 'db."q"', "db.😀"])
def test_names_are_found_as_headers_write_them(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    headers = dict(h.header_list("s", "live", {h.TABLES: {name: {"files": 1}}, h.RANGES: ranges_to_json([HERE])}))
    one = ControlMessage(0, 0, None, b"", headers)
    assert announced(monkeypatch, one, names=[name]) == {name: {HERE}}


@pytest.mark.parametrize("tables", [None, 5, ["db.a"], {"db.a": 1}, "db.a"])
def test_headers_that_are_no_announcement_are_passed_by(monkeypatch: pytest.MonkeyPatch, tables: object) -> None:
    assert announced(monkeypatch, message(tables)) == {}


@pytest.mark.parametrize("ranges", [5, [], {"pizzas": {}}, {"pizzas": {"id": "T", "ranges": [["x"]]}}])
def test_ranges_that_cannot_be_read_are_passed_by(monkeypatch: pytest.MonkeyPatch, ranges: object) -> None:
    assert announced(monkeypatch, message({"db.a": {"files": 1}}, ranges)) == {"db.a": set()}
