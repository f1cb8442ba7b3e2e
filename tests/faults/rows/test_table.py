"""Rows 8, 32, 35 and 36: several tables, and tables that their owner drops, replaces, expires or rolls back."""

from __future__ import annotations

import pytest

from tests.faults.harness import foreign
from tests.faults.harness.run import JobResult
from tests.faults.harness.sink import MakeSink, Sink

GOOD, BAD = "db.good", "db.bad"


@pytest.fixture
def pair(make_sink: MakeSink) -> Sink:
    """A sink of two partitions into two tables; every record goes to both."""
    return make_sink(tables=[GOOD, BAD])


def behind(sink: Sink) -> JobResult:
    """Run once; the commit must fail and name the table that is behind."""
    commit = sink.new_run().carry_out()[-1]
    assert commit.is_refused, commit
    assert BAD in commit.message, commit
    assert GOOD not in commit.message.split("is behind")[0], commit
    return commit


def backlogs(sink: Sink) -> dict[int, dict[str, int]]:
    """Return the debts on record, by partition."""
    return {p: dict(position.backlogs) for (_, p), position in sink.marks().items() if position.backlogs}


@pytest.mark.parametrize("point", ["commit.table@2", "commit.table.landed@1", "commit.table.landed@2"])
def test_row_08_commit_killed_between_tables_commits_each_once(pair: Sink, point: str) -> None:
    run = pair.announced()
    assert run.step("commit", crash=point).was_killed
    committed = {name: pair.snapshots(name) for name in pair.tables}
    assert sum(committed.values()) == (2 if point.endswith("landed@2") else 1)
    assert sum(pair.positions().values()) == 0
    assert run.step("commit").facts["landed_before"] == {name: count == 1 for name, count in committed.items()}
    pair.assert_exactly_once()
    assert {name: pair.snapshots(name) for name in pair.tables} == {GOOD: 1, BAD: 1}


@pytest.mark.ci
def test_row_32_only_table_dropped_before_commit_has_backlog(pair: Sink) -> None:
    run = pair.announced()
    pair.watcher.disturbed.add(BAD)
    foreign.drop(pair, BAD)
    message = run.step("commit")
    assert message.is_refused, message
    assert BAD in message.message, message
    assert sum(pair.positions().values()) == 300
    assert {table for backlog in backlogs(pair).values() for table in backlog} == {BAD}
    pair.watcher.disturbed.clear()
    pair.producer.produce(100)
    pair.settle()
    pair.assert_exactly_once()
    assert backlogs(pair) == {}


def test_row_32_table_replaced_has_backlog_until_caught_up(pair: Sink) -> None:
    run = pair.announced()
    pair.watcher.disturbed.add(BAD)
    foreign.replace(pair, BAD)
    message = run.step("commit")
    assert message.is_refused, message
    assert "replaced" in message.message, message
    pair.watcher.disturbed.clear()
    pair.producer.produce(100)
    pair.settle()
    pair.assert_exactly_once()


def test_row_32_a_debt_that_is_forgiven_is_a_gap_on_record(pair: Sink) -> None:
    pair.producer.produce(200)
    pair.run()
    with foreign.broken_ledger(pair, BAD):
        pair.producer.produce(100)
        behind(pair)
        backlog = backlogs(pair)
        behind(pair)
    assert {table for one in backlog.values() for table in one} == {BAD}
    ends = pair.positions()
    pair.observe()
    for partition, one in backlog.items():
        pair.excuse(BAD, pair.topic, partition, one[BAD], ends[partition])
    pair.run(decisions={"forgive": [BAD]})
    pair.producer.produce(100)
    pair.assert_exactly_once()


def test_row_35_expired_snapshots_change_nothing(sink: Sink) -> None:
    for _ in range(4):
        sink.producer.produce(100)
        sink.run()
    foreign.append(sink)
    foreign.expire(sink, keep=1)
    assert sink.snapshots() == 1
    sink.producer.produce(100)
    accepted = sink.new_run().carry_out()
    if not accepted[-1].is_done:
        # PyIceberg's expiry cuts the history as a replacement would: then the refusal says what to do
        assert any("rolled_back" in one.message for one in accepted), accepted
        sink.run(decisions={"rolled_back": {"db.t": "accept"}})
    sink.assert_exactly_once()


def test_row_36_a_rollback_is_refused_and_replayed_into_the_gap(pair: Sink) -> None:
    for _ in range(3):
        pair.producer.produce(100)
        pair.run()
    pair.watcher.disturbed.add(BAD)
    foreign.roll_back(pair, BAD, snapshots=2)
    pair.producer.produce(100)
    assert "rolled_back" in behind(pair).message
    pair.producer.produce(50)
    behind(pair)
    replayed = pair.new_run(decisions={"rolled_back": {BAD: "replay"}}).carry_out()
    assert replayed[0].is_done, replayed
    pair.watcher.disturbed.clear()
    pair.settle()
    pair.assert_exactly_once()
    assert backlogs(pair) == {}


@pytest.mark.parametrize("point", ["amend.table", "amend.table.landed"])
@pytest.mark.parametrize("how", ["replay", "accept"])
def test_row_36_decision_killed_halfway_is_applied_once(sink: Sink, point: str, how: str) -> None:
    for _ in range(3):
        sink.producer.produce(100)
        sink.run()
    at = foreign.rows_of_the_newest(sink, snapshots=1)
    sink.watcher.disturbed.add("db.t")
    foreign.roll_back(sink, "db.t", snapshots=1)
    run = sink.new_run(decisions={"rolled_back": {"db.t": how}})
    assert run.step("plan", crash=point).was_killed
    if how == "accept":
        sink.observe()
        for partition, (start, end) in at.items():
            sink.excuse("*", sink.topic, partition, start, end)
    for outcome in run.carry_out():
        assert outcome.is_done, outcome
    sink.settle()
    sink.watcher.disturbed.clear()
    sink.assert_exactly_once()
