"""Rows that were announced land, though the group's positions are gone: with their topic, or by themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from confluent_kafka.admin import AdminClient

from floe.kafka.admin import Cluster
from floe.kafka.exceptions import TopicMissing
from floe.model.exceptions import PlanRefused
from floe.model.plan import Plan
from floe.tables.exceptions import SliceNotWritten, TablesBehind
from stack.progress import wait_until
from tests.support.runs.mishaps import (
    BAD,
    GOOD,
    both_whole,
    commit_and_die,
    commit_as,
    delete_group,
    ledger_name,
    owe,
    recreate,
    run_to_the_end,
    set_ledger,
    snapshot_ids,
    two_tables,
    with_another_topic,
)
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import ids
from tests.support.runs.replays import opened

CreateTopic = Callable[..., str]


def written(pizzas: Pipeline, start: int, end: int) -> Plan:
    """Produce, plan and write: all but the commit."""
    pizzas.produce(ids(start, end))
    plan = pizzas.plan()
    pizzas.write(plan)
    return plan


def delete_topic(pizzas: Pipeline, admin: AdminClient) -> None:
    """Delete the topic; the broker deletes the group's positions of it a little later."""
    admin.delete_topics([pizzas.topic])[pizzas.topic].result(30)
    lose_positions(pizzas)


def recreate_topic(pizzas: Pipeline, admin: AdminClient, partitions: int) -> None:
    recreate(pizzas, admin, partitions)
    lose_positions(pizzas)


def lose_positions(pizzas: Pipeline) -> None:
    """Wait until the group has no position of the topic."""
    cluster, group_id = Cluster.of_control(pizzas.settings), pizzas.connector.group_id
    assert wait_until(lambda: pizzas.topic not in {tp.topic for tp in cluster.positions(group_id)}, 30)


@pytest.mark.parametrize("partitions", [1, 2, 3])
def test_rows_of_a_recreated_topic_land(pipeline: MakePipeline, admin: AdminClient, partitions: int) -> None:
    pizzas = pipeline(2)
    pizzas.produce(ids(0, 100))
    pizzas.run()
    plan = written(pizzas, 100, 200)
    recreate_topic(pizzas, admin, partitions)
    report = pizzas.commit(plan)
    assert not report.done
    assert pizzas.column("id") == list(range(200))
    assert pizzas.position() == {}
    assert pizzas.commit(plan).committed[0].already
    pizzas.produce(ids(500, 520))
    with pytest.raises(PlanRefused, match="reset_topics="):
        pizzas.plan()
    pizzas.run(reset_topics=[pizzas.topic])
    run_to_the_end(pizzas)
    assert pizzas.column("id") == [*range(200), *range(500, 520)]


@pytest.mark.parametrize("metadata", ['{"floe":1}', '{"floe":2}', '"floe"'])
def test_junk_beside_a_position_keeps_no_topic_from_being_reset(
    pipeline: MakePipeline, admin: AdminClient, metadata: str
) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, 10))
    pizzas.run()
    recreate_topic(pizzas, admin, 1)
    pizzas.produce(ids(10, 20))
    commit_as(pizzas, 3, metadata)
    with pytest.raises(PlanRefused, match="`recover`"):
        pizzas.plan()
    pizzas.run(recover=True, reset_topics=[pizzas.topic])
    assert pizzas.column("id") == list(range(20))


def test_rows_of_a_deleted_topic_land(pipeline: MakePipeline, admin: AdminClient) -> None:
    pizzas = pipeline(2)
    plan = written(pizzas, 0, 100)
    delete_topic(pizzas, admin)
    pizzas.commit(plan)
    assert pizzas.column("id") == list(range(100))
    assert pizzas.commit(plan).committed[0].already
    with pytest.raises(TopicMissing):
        pizzas.plan()
    assert pizzas.column("id") == list(range(100))


def test_one_of_two_topics_that_is_deleted_holds_nothing_up(
    pipeline: MakePipeline, topic: CreateTopic, admin: AdminClient
) -> None:
    pizzas, sodas = with_another_topic(pipeline(), topic(2))
    sodas.produce(ids(100, 150))
    plan = written(pizzas, 0, 50)
    assert len(plan.slices) == 1
    delete_topic(sodas, admin)
    pizzas.commit(plan)
    assert pizzas.column("id") == [*range(50), *range(100, 150)]
    assert pizzas.position() == {0: 50}
    alone = pizzas.changed(topics=pizzas.topic)
    assert written(alone, 50, 60).slices
    # what there is of the old plan's positions is past its end by now; of the rest the tables tell
    assert pizzas.commit(plan).committed[0].already
    run_to_the_end(alone)
    assert alone.column("id") == [*range(60), *range(100, 150)]


def test_a_commit_that_died_before_the_positions_is_finished(
    pipeline: MakePipeline, admin: AdminClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    pizzas = two_tables(pipeline)
    plan = written(pizzas, 0, 40)
    commit_and_die(pizzas, plan, monkeypatch)
    recreate_topic(pizzas, admin, 1)
    assert all(committed.already for committed in pizzas.commit(plan).committed)
    assert both_whole(pizzas, 40)


def test_a_backlog_of_a_recreated_topic_is_caught_up(pipeline: MakePipeline, admin: AdminClient) -> None:
    pizzas = two_tables(pipeline)
    owe(pizzas, 0, 20)
    plan = written(pizzas, 20, 30)
    assert {str(s.kind) for s in plan.slices} == {"live", "catch-up"}
    recreate_topic(pizzas, admin, 1)
    pizzas.commit(plan)
    assert both_whole(pizzas, 30)
    with pytest.raises(PlanRefused, match="reset_topics="):
        pizzas.plan()


@pytest.mark.parametrize("has_backlog", [False, True])
def test_a_table_that_refuses_then_is_told_and_can_be_cleared(
    pipeline: MakePipeline, admin: AdminClient, has_backlog: bool
) -> None:
    pizzas = two_tables(pipeline)
    if has_backlog:
        owe(pizzas, 0, 20)
    else:
        pizzas.produce(ids(0, 20))
        pizzas.run()
    plan = written(pizzas, 20, 30)
    delete_topic(pizzas, admin)
    before = pizzas.table(BAD).metadata.properties.get(ledger_name(pizzas))
    set_ledger(pizzas, BAD, "broken")
    start = 0 if has_backlog else 20
    for _ in range(2):
        with pytest.raises(
            TablesBehind, match=rf"{BAD}.*-0\[{start}, 30\).*This is not recorded.*clear the commit task"
        ):
            pizzas.commit(plan)
    assert pizzas.column("id", GOOD) == list(range(30))
    with pizzas.table(BAD).transaction() as change:
        if before is None:
            change.remove_properties(ledger_name(pizzas))
        else:
            change.set_properties({ledger_name(pizzas): before})
    pizzas.commit(plan)
    assert both_whole(pizzas, 30)


def test_a_backlog_that_was_not_written_for_is_told(pipeline: MakePipeline, admin: AdminClient) -> None:
    pizzas = two_tables(pipeline)
    owe(pizzas, 0, 20)
    pizzas.produce(ids(20, 30))
    plan = pizzas.plan()
    live = next(s for s in plan.slices if s.kind == "live")
    pizzas.write(replace(plan, slices=(live,)))
    delete_topic(pizzas, admin)
    with pytest.raises(TablesBehind, match=rf"{BAD}.*-0\[0, 30\).*This is not recorded"):
        pizzas.committer(plan).commit([plan.slice_id(live)])
    assert pizzas.column("id", GOOD) == list(range(30))


def test_a_replay_of_a_recreated_topic_lands(pipeline: MakePipeline, admin: AdminClient) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, 30))
    pizzas.run()
    plan, replayed = opened(pizzas, overlap="append", ranges={"0": [10, 20]})
    replayed.write(plan)
    recreate_topic(pizzas, admin, 1)
    replayed.commit(plan)
    assert pizzas.column("id") == sorted([*range(30), *range(10, 20)])
    replayed.commit(plan)
    assert len(snapshot_ids(pizzas, "db.t")) == 2


def test_rows_land_when_the_group_was_deleted(pipeline: MakePipeline, admin: AdminClient) -> None:
    pizzas = pipeline(2)
    pizzas.produce(ids(0, 50))
    pizzas.run()
    plan = written(pizzas, 50, 80)
    delete_group(pizzas, admin)
    pizzas.commit(plan)
    assert pizzas.column("id") == list(range(80))
    assert pizzas.position() == {}
    with pytest.raises(PlanRefused, match="`recover`"):
        pizzas.plan()
    pizzas.run(recover=True)
    run_to_the_end(pizzas)
    assert pizzas.column("id") == list(range(80))


def test_a_write_for_a_recreated_topic_takes_no_new_row(pipeline: MakePipeline, admin: AdminClient) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, 30))
    plan = pizzas.plan()
    recreate_topic(pizzas, admin, 1)
    pizzas.produce(ids(100, 130))
    (refused,) = pizzas.try_write(plan)
    assert "was re-created while" in str(refused)
    with pytest.raises(SliceNotWritten):
        pizzas.committer(plan).commit([])
    assert pizzas.position() == {}
    pizzas.run()  # no table has a row of the old topic: the new one begins as any
    assert pizzas.column("id") == list(range(100, 130))
