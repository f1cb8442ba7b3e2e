"""Rows 6, 7 and 13 to 18: committers that are killed, held or doubled, runs that meet, and others' commits."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.faults.harness import foreign
from tests.faults.harness.sink import Sink


@pytest.mark.ci
def test_row_06_commit_killed_before_catalog_request_is_repeated(sink: Sink) -> None:
    run = sink.announced(500)
    assert run.step("commit", crash="commit.table").was_killed
    assert sink.snapshots() == 0
    assert run.step("commit").facts["landed_before"] == {"db.t": False}
    sink.assert_exactly_once()


@pytest.mark.ci
def test_row_07_commit_killed_after_catalog_finds_snapshot(sink: Sink) -> None:
    run = sink.announced(500)
    assert run.step("commit", crash="commit.table.landed").was_killed
    assert sum(sink.positions().values()) == 0
    assert run.step("commit").facts["landed_before"] == {"db.t": True}
    sink.assert_exactly_once()
    assert sink.snapshots() == 1


@pytest.mark.ci
def test_row_13_two_commits_at_once_add_one_snapshot(sink: Sink) -> None:
    run = sink.announced(500)
    both = [run.held("commit", "commit.table") for _ in range(2)]
    for one in both:
        one.go_on()
    outcomes = [one.finish() for one in both]
    assert any(outcome.is_done for outcome in outcomes), outcomes
    assert run.persist("commit").facts["done_before"]
    sink.assert_exactly_once()
    assert sink.snapshots() == 1


@pytest.mark.parametrize("point", ["commit.table", "commit.positions", "transaction.sent"])
def test_row_14_commit_paused_while_others_run_adds_nothing(sink: Sink, point: str) -> None:
    run = sink.announced(500)
    zombie = run.held("commit", point)
    assert run.persist("commit").is_done
    sink.producer.produce(300)
    sink.run()
    before = sink.positions()
    zombie.go_on()
    woken = zombie.finish()
    assert woken.is_done or woken.error in ("Fenced", "Superseded", "TransactionFailed"), woken
    assert sink.positions() == before
    sink.assert_exactly_once()
    assert sink.snapshots() == 2


@pytest.mark.parametrize(
    "act", [foreign.append, foreign.add_column, foreign.rewrite, foreign.change_spec, foreign.set_property]
)
def test_row_15_foreign_commit_in_between_is_kept(sink: Sink, act: Callable[[Sink], None]) -> None:
    sink.producer.produce(200)
    sink.run()
    run = sink.announced(500)
    committing = run.held("commit", "commit.table")
    act(sink)
    committing.go_on()
    outcome = committing.finish()
    assert outcome.is_done, outcome
    sink.producer.produce(100)
    sink.assert_exactly_once()


@pytest.mark.ci
def test_row_16_of_two_runs_over_the_same_range_one_plan_wins(sink: Sink) -> None:
    sink.producer.produce(500)
    runs = [sink.new_run() for _ in range(2)]
    for run in runs:
        assert run.step("plan").is_done
    for writing in [run.start("write") for run in runs]:
        writing.finish()
    outcomes = [committing.finish() for committing in [run.start("commit") for run in runs]]
    fresh = [outcome for outcome in outcomes if outcome.facts.get("landed_before") == {"db.t": False}]
    assert len(fresh) <= 1, outcomes
    report = sink.assert_exactly_once()
    assert sink.snapshots() == 1
    assert sum(map(len, report.orphans.values())) > 0


def test_row_16_two_runs_planned_at_once_one_is_superseded(sink: Sink) -> None:
    sink.producer.produce(500)
    first = sink.new_run()
    assert first.step("plan").is_done
    sink.producer.produce(100)
    second = sink.new_run()
    assert second.step("plan").is_done
    assert second.step("write").is_done
    assert first.step("write").is_done
    assert first.step("commit").is_done
    late = second.step("commit")
    assert late.is_refused, late
    sink.assert_exactly_once()


def test_row_18_committed_run_repeated_with_new_records_is_idle(sink: Sink) -> None:
    run = sink.announced(500)
    assert run.step("commit").is_done
    sink.producer.produce(300)
    for step in ("plan", "write", "commit"):
        assert run.step(step).is_done
    assert run.step("write").facts["how"] == "committed already"
    assert run.step("commit").facts["done_before"]
    assert sink.snapshots() == 1
    assert sum(sink.positions().values()) == 500
    sink.assert_exactly_once()
