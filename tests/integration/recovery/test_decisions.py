"""A decision holds for the state it was decided about; each refusal names a way out that loses no record."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient

from floe.model.exceptions import PlanRefused, Superseded
from floe.tables.exceptions import TableRefused
from tests.support.runs.mishaps import (
    BAD,
    GOOD,
    branch_column,
    break_ledger,
    clear,
    commit_and_die,
    delete_group,
    lose_end_of_log,
    recreate,
    roll_back,
    run_behind,
    run_each,
    run_to_the_end,
    snapshot_ids,
    two_tables,
    with_another_topic,
)
from tests.support.runs.pipeline import MakePipeline
from tests.support.runs.records import ids

ON_AUDIT = {"iceberg.tables.default-commit-branch": "audit"}
EACH_ROLLBACK = pytest.mark.parametrize("how", ["replay", "accept"])


# -- branches ---------------------------------------------------------------------------------------------------------


@EACH_ROLLBACK
def test_main_rolled_back_before_new_branch_is_decided_there(pipeline: MakePipeline, how: str) -> None:
    pizzas = two_tables(pipeline)
    audited = pizzas.changed(**ON_AUDIT)
    run_each(pizzas, 0, 10)
    roll_back(pizzas, snapshot_ids(pizzas)[0])
    pizzas.produce(ids(20, 30))
    assert "rolled_back=" in str(run_behind(audited))
    audited.run(rolled_back={BAD: how})
    run_to_the_end(audited)
    assert audited.backlogs() == {}
    assert branch_column(audited, "audit", GOOD) == list(range(30))
    left_out = set(range(10, 20)) if how == "accept" else set()
    assert branch_column(audited, "audit", BAD) == sorted(set(range(30)) - left_out)


@EACH_ROLLBACK
@pytest.mark.parametrize("is_lost_first", [False, True], ids=["read on", "recovered at once"])
def test_a_branch_published_to_main_is_known_there(
    pipeline: MakePipeline, admin: AdminClient, how: str, is_lost_first: bool
) -> None:
    pizzas = pipeline(**{"iceberg.tables": BAD})
    audited = pizzas.changed(**ON_AUDIT)
    run_each(pizzas, 0)
    run_each(audited, 10)
    roll_back(pizzas, pizzas.table(BAD).metadata.refs["audit"].snapshot_id)
    if not is_lost_first:
        pizzas.produce(ids(20, 30))
        with pytest.raises(TableRefused, match="rolled_back="):
            pizzas.run()
    pizzas.run(rolled_back={BAD: how})
    if not is_lost_first:
        run_to_the_end(pizzas)
    delete_group(pizzas, admin)
    pizzas.run(recover=True)
    run_to_the_end(pizzas)
    assert pizzas.column("id", BAD) == list(range(20 if is_lost_first else 30))


def test_positions_lost_during_branch_change_are_recovered(pipeline: MakePipeline, admin: AdminClient) -> None:
    pizzas = pipeline(**{"consumer.override.auto.offset.reset": "latest"})
    audited = pizzas.changed(**ON_AUDIT)
    pizzas.run()
    run_each(pizzas, 0)
    pizzas.produce(ids(10, 20))
    delete_group(pizzas, admin)
    with pytest.raises(PlanRefused, match="`recover`"):
        audited.plan()
    audited.run(recover=True)
    run_each(audited, 20)
    assert branch_column(audited, "audit", "db.t") == list(range(30))


# -- shortened and re-created logs ------------------------------------------------------------------------------------


def test_old_run_that_reset_topics_removes_nothing_from_ledger(
    pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    pizzas = pipeline(2)
    pizzas.produce(ids(0, 20), partition=0)
    pizzas.produce(ids(100, 110), partition=1)
    pizzas.run()
    lose_end_of_log(pizzas, 30)
    adopting = pizzas.plan(reset_topics=[pizzas.topic])
    assert pizzas.position() == {0: 20, 1: 10}
    pizzas.produce(ids(20, 40), partition=0)
    plan = pizzas.plan()
    pizzas.write(plan)
    commit_and_die(pizzas, plan, monkeypatch)
    assert clear(pizzas, adopting) == []
    assert clear(pizzas, plan) == []
    run_to_the_end(pizzas)
    assert pizzas.column("id") == [*range(40), *range(100, 110)]


def test_group_lost_after_shortened_log_is_recovered_below_cut(pipeline: MakePipeline, admin: AdminClient) -> None:
    pizzas = pipeline()
    run_each(pizzas, 0, 10)
    lose_end_of_log(pizzas, 35)
    with pytest.raises(PlanRefused, match="reset_topics="):
        pizzas.plan()
    pizzas.plan(reset_topics=[pizzas.topic])
    pizzas.produce(ids(20, 40))
    delete_group(pizzas, admin)
    pizzas.run(recover=True)
    run_to_the_end(pizzas)
    assert pizzas.column("id") == list(range(40))


def test_run_of_deleted_topic_moves_no_position_of_new_one(pipeline: MakePipeline, admin: AdminClient) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, 10))
    old = pizzas.plan()
    pizzas.write(old)
    recreate(pizzas, admin)
    pizzas.produce(ids(20, 40))
    adopting = pizzas.plan(reset_topics=[pizzas.topic])
    with pytest.raises(Superseded, match="to another log"):
        pizzas.committer(old).commit([])
    assert clear(pizzas, adopting) == []
    run_to_the_end(pizzas)
    assert pizzas.column("id") == list(range(20, 40))


@pytest.mark.parametrize("at_once", [False, True], ids=["one after the other", "at once"])
def test_a_rollback_and_a_new_topic_can_both_be_decided_about(
    pipeline: MakePipeline, admin: AdminClient, at_once: bool
) -> None:
    pizzas = two_tables(pipeline)
    run_each(pizzas, 0, 10)
    roll_back(pizzas, snapshot_ids(pizzas)[0])
    recreate(pizzas, admin)
    pizzas.produce(ids(30, 40))
    if at_once:
        pizzas.run(reset_topics=[pizzas.topic], rolled_back={BAD: "replay"})
    else:
        assert "rolled_back=" in str(run_behind(pizzas, reset_topics=[pizzas.topic]))
        pizzas.run(rolled_back={BAD: "replay"})
    run_to_the_end(pizzas)
    assert pizzas.column("id", GOOD) == [*range(20), *range(30, 40)]
    assert pizzas.column("id", BAD) == [*range(10), *range(30, 40)]  # what the old topic had is gone with it


def test_rollback_past_new_topic_reads_all_of_it_again(pipeline: MakePipeline, admin: AdminClient) -> None:
    pizzas = two_tables(pipeline)
    run_each(pizzas, 0, 10)
    recreate(pizzas, admin)
    pizzas.produce(ids(30, 40))
    pizzas.run(reset_topics=[pizzas.topic])
    roll_back(pizzas, snapshot_ids(pizzas)[0])
    pizzas.produce(ids(40, 50))
    pizzas.run(rolled_back={BAD: "replay"})
    run_to_the_end(pizzas)
    assert pizzas.column("id", GOOD) == [*range(20), *range(30, 50)]
    assert pizzas.column("id", BAD) == [*range(10), *range(30, 50)]


# -- a ledger that cannot be read -------------------------------------------------------------------------------------


def test_one_unreadable_ledger_blocks_no_decision_on_others(
    pipeline: MakePipeline, topic: Callable[..., str], admin: AdminClient
) -> None:
    pizzas = two_tables(pipeline)
    run_each(pizzas, 0)
    repair = break_ledger(pizzas)
    pizzas.produce(ids(10, 20))
    run_behind(pizzas)
    both, other = with_another_topic(pizzas, topic())
    other.produce(ids(100, 110))
    run_behind(both)
    roll_back(both, snapshot_ids(both, GOOD)[0], GOOD)
    run_behind(both, rolled_back={GOOD: "replay"})
    assert both.column("id", GOOD) == [*range(20), *range(100, 110)]
    delete_group(both, admin)
    run_behind(both, recover=True)
    repair()
    run_to_the_end(both)
    assert both.column("id", GOOD) == both.column("id", BAD) == [*range(20), *range(100, 110)]
