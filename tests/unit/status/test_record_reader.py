"""Records from what is known: nothing that fails raises, and what is not looked up is taken over."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from floe.config.secrets.mask import learn
from floe.kafka.exceptions import KafkaUnreachable
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.holding import LogId
from floe.model.offsets import Intervals, PartitionLog, TopicPartition
from floe.status import record_reader as module
from floe.status.reader import LookUp
from floe.status.record import ControlEvent, DeadLetterReason, HeldOffsets, Point, StatusRecord
from floe.status.record_reader import COMMITS, UnreadAge, collect_record, rebased, record_after_run, unknown_record
from tests.support.status.records import MINUTE, NOW, commit, status, table

HELD = (HeldOffsets("db.t", "pizzas", 0, Intervals(((0, 10),))),)
EVENTS = (ControlEvent(0, 1, NOW, "START_COMMIT"),)
REASONS = (DeadLetterReason("db.t", "coerce", "E", 2),)
FORMER = StatusRecord(
    status(NOW, 5, table("db.t", commit(1))),
    HELD,
    EVENTS,
    REASONS,
    (Point(NOW, 5, 10),),
    lag_seconds=9.0,
    seconds_until_lost=90.0,
    dead_letters_at=NOW,
    rows=10,
)
LATER = NOW + MINUTE


class Parts:
    """The look-ups of a record, as fakes: each returns what is set, or raises it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.connector: Any = SimpleNamespace(
            name="one", group_id="connect-one", errors=SimpleNamespace(table="db.dead")
        )
        log = PartitionLog(TopicPartition("pizzas", 0), "T", 0, 15)
        present = status(LATER, 5, table("db.t", commit(2, LATER), commit(1)), table("db.dead"))
        self.look: Any = LookUp(present, SimpleNamespace(logs=(log,)), SimpleNamespace(), {})  # type: ignore[arg-type]
        self.held: Any = ()
        self.events: Any = ()
        places = DeadLetterOffsets.of([("db.t", LogId("pizzas", "T", 0), Intervals(((3, 6),)))])
        self.dead_letters: Any = (REASONS, places)
        self.age: Any = UnreadAge(1.0, 2.0)
        patch.setattr(module, "look_up", lambda *_: self.given(self.look))
        patch.setattr(module, "held_offsets", lambda *_: self.given(self.held))
        patch.setattr(module, "control_events", lambda *_: self.given(self.events))
        patch.setattr(module, "open_dead_letters", lambda *_: self.given(self.dead_letters))
        patch.setattr(module, "UnreadAge", SimpleNamespace(of=lambda *_: self.given(self.age)))

    @staticmethod
    def given(value: Any) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    def record(self, former: StatusRecord | None = FORMER) -> StatusRecord:
        settings: Any = None
        return collect_record(self.connector, settings, former)


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Parts:
    return Parts(monkeypatch)


def test_record_is_of_all_parts(parts: Parts) -> None:
    parts.held, parts.events = HELD, EVENTS
    record = parts.record(None)
    assert (record.held, record.events, record.dead_letters, record.dead_letters_at) == (HELD, EVENTS, REASONS, LATER)
    assert (record.lag_seconds, record.seconds_until_lost, record.rows) == (1.0, 2.0, 0)
    assert record.history == (Point(LATER, 5, 0),)
    assert [one.open_dead_letters for one in record.status.tables or ()] == [3, 3]


def test_record_goes_on_where_the_former_ended(parts: Parts) -> None:
    record = parts.record()
    assert record.rows == 20
    assert record.history == (Point(NOW, 5, 10), Point(LATER, 5, 10))
    assert (record.dead_letters, record.dead_letters_at) == (REASONS, NOW), "a minute ago is not long ago"


def test_counts_of_dead_letters_are_taken_over(parts: Parts) -> None:
    first = parts.record(None)
    parts.dead_letters = OSError("not asked")
    assert [one.open_dead_letters for one in parts.record(first).status.tables or ()] == [3, 3]


@pytest.mark.parametrize("part", ["held", "events", "dead_letters", "age"])
def test_part_that_fails_is_a_problem_and_taken_over(parts: Parts, part: str) -> None:
    learn({"password": "h1dden-from-the-record"})
    setattr(parts, part, RuntimeError("no h1dden-from-the-record\nanswer" + "x" * 5_000))
    record = parts.record(replace(FORMER, dead_letters_at=None))
    (problem,) = record.status.problems
    assert problem.startswith("RuntimeError: no ") and "h1dden" not in problem and len(problem) <= 500
    if part == "age":
        assert (record.lag_seconds, record.seconds_until_lost) == (None, None)
    else:
        assert getattr(record, part) == getattr(FORMER, part)


def test_without_kafka_ages_are_not_known(parts: Parts) -> None:
    away = replace(parts.look.status, partitions=None, problems=("no broker",))
    parts.look = parts.look._replace(kafka=None, status=away)
    record = parts.record()
    assert (record.lag_seconds, record.events, record.status.problems) == (None, EVENTS, ("no broker",))
    assert record.history[-1].lag is None


def test_without_catalog_what_tables_said_is_taken_over(parts: Parts) -> None:
    away = replace(parts.look.status, tables=None, problems=("no catalog",))
    parts.look = parts.look._replace(reader=None, status=away)
    record = parts.record()
    assert (record.held, record.dead_letters, record.lag_seconds) == (HELD, REASONS, 1.0)


def test_look_up_that_raises_is_a_record_all_the_same(parts: Parts) -> None:
    parts.look = KafkaUnreachable("no broker at all")
    record = parts.record()
    assert (record.status.partitions, record.status.problems) == (None, ("no broker at all",))
    assert record.held == HELD
    assert parts.record(None).status.name == "one"


def test_connector_without_dead_letter_table_has_none(parts: Parts) -> None:
    parts.connector.errors.table = None
    assert parts.record().dead_letters is None


def test_broken_connector_keeps_what_was_known() -> None:
    record = unknown_record("one", "connect-one", ["bad key\nand more"] * 80, FORMER)
    assert record.status.problems == ("bad key and more",) * 50
    assert (record.held, record.events, record.rows, record.lag_seconds) == (HELD, EVENTS, 10, None)
    assert unknown_record("one", "", ["x"], None).status.partitions is None


def after(lag: int, former: StatusRecord | None, at: datetime = LATER) -> StatusRecord:
    present = replace(status(at, lag), tables=None)
    return record_after_run(present, former, {"db.t": commit(2, at, 7)}, None)


def test_record_after_a_run_has_its_commit() -> None:
    record = after(0, FORMER)
    (found,) = record.status.tables or ()
    assert [one.snapshot_id for one in found.commits] == [2, 1] and found.snapshot_id == 2
    assert (record.rows, record.lag_seconds, record.seconds_until_lost) == (17, None, None)
    assert (record.held, record.events, record.dead_letters) == (HELD, EVENTS, REASONS)
    assert after(0, record).rows == 17, "a commit that is known adds nothing"


def test_record_after_a_run_keeps_the_age_of_what_is_unread() -> None:
    assert (after(3, FORMER).lag_seconds, after(3, FORMER).seconds_until_lost) == (9.0, 90.0)


def test_record_after_the_first_run_knows_no_tables() -> None:
    record = after(3, None)
    assert (record.status.tables, record.rows, len(record.history)) == (None, 0, 1)


def test_record_after_a_run_has_few_commits() -> None:
    many = StatusRecord(status(NOW, 0, table("db.t", *(commit(i + 10) for i in range(COMMITS)))))
    (found,) = after(0, many).status.tables or ()
    assert len(found.commits) == COMMITS and found.commits[0].snapshot_id == 2


def test_record_follows_what_a_run_kept_meanwhile(parts: Parts) -> None:
    collected = parts.record()
    assert rebased(collected, FORMER, None) == collected
    assert rebased(collected, None, None) == collected
    kept = after(0, FORMER, LATER + MINUTE)
    found = rebased(collected, kept, None)
    assert (found.status, found.rows, found.history) == (kept.status, kept.rows, kept.history)
    assert (found.lag_seconds, found.dead_letters) == (collected.lag_seconds, collected.dead_letters)
    early = after(0, FORMER, LATER - MINUTE / 2)
    again = rebased(collected, early, None)
    assert (again.status, again.rows) == (collected.status, early.rows), "the commit of the run is in both"
