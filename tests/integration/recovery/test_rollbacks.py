"""Rollbacks, decided about before, after and beside another change: each refusal's way out ends with every record once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from floe.commit.slice_commit import SliceCommitter
from floe.model.exceptions import PlanRefused, Superseded
from floe.planning.replay_plan import draft_replay, open_replay
from floe.tables.exceptions import TableRefused
from tests.support.runs.mishaps import (
    BAD,
    both_whole,
    clear,
    expire_as_java,
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

# -- runs that were made for another state ----------------------------------------------------------------------------


def test_old_replay_of_rollback_does_not_decide_the_next_one(pipeline: MakePipeline) -> None:
    pizzas = pipeline(**{"iceberg.tables": BAD})
    run_each(pizzas, 0, 10)
    first = snapshot_ids(pizzas)[0]
    roll_back(pizzas, first)
    old = pizzas.run(rolled_back={BAD: "replay"})
    assert pizzas.column("id", BAD) == list(range(20))
    run_each(pizzas, 20)
    roll_back(pizzas, first)
    assert [type(error) for error in clear(pizzas, old)] == [Superseded]
    pizzas.produce(ids(30, 40))
    with pytest.raises(TableRefused, match="rolled_back="):
        pizzas.run()
    pizzas.run(rolled_back={BAD: "replay"})
    run_to_the_end(pizzas)
    assert pizzas.column("id", BAD) == list(range(40))


def test_old_run_gives_up_only_rows_accepted_as_rolled_back(pipeline: MakePipeline) -> None:
    pizzas = pipeline(**{"iceberg.tables": BAD})
    run_each(pizzas, 0, 10, 20)
    first, second, _ = snapshot_ids(pizzas)
    roll_back(pizzas, second)
    old = pizzas.plan(rolled_back={BAD: "accept"})
    run_each(pizzas, 30)
    roll_back(pizzas, first)
    assert [type(error) for error in clear(pizzas, old)] == [Superseded]
    pizzas.produce(ids(40, 50))
    with pytest.raises(TableRefused, match="rolled_back="):
        pizzas.run()
    pizzas.run(rolled_back={BAD: "replay"})
    run_to_the_end(pizzas)
    assert pizzas.column("id", BAD) == [*range(20), *range(30, 50)]


@pytest.mark.parametrize("how", ["replay", "accept"])
@pytest.mark.parametrize("is_caught_up", [False, True], ids=["at once", "after the catch-up"])
def test_a_rollback_that_its_owner_takes_back_doubles_nothing(
    pipeline: MakePipeline, how: str, is_caught_up: bool
) -> None:
    pizzas = pipeline(**{"iceberg.tables": BAD})
    run_each(pizzas, 0, 10)
    first, second = snapshot_ids(pizzas)
    roll_back(pizzas, first)
    plan = pizzas.plan(rolled_back={BAD: "replay"})
    if is_caught_up:
        pizzas.write(plan)
        pizzas.commit(plan)
    roll_back(pizzas, second)
    assert pizzas.column("id", BAD) == list(range(20))
    pizzas.produce(ids(20, 30))
    with pytest.raises(TableRefused, match="rolled_back="):
        pizzas.run()
    pizzas.run(rolled_back={BAD: how})
    run_to_the_end(pizzas)
    assert pizzas.column("id", BAD) == list(range(30))


def test_run_older_than_rollback_adds_nothing_newer(pipeline: MakePipeline) -> None:
    pizzas = two_tables(pipeline)
    run_each(pizzas, 0, 10)
    pizzas.produce(ids(20, 30))
    older = pizzas.plan()
    pizzas.write(older)
    roll_back(pizzas, snapshot_ids(pizzas)[0])
    decided = pizzas.plan(rolled_back={BAD: "replay"})
    with pytest.raises(Superseded, match=r"\['db\.bad'\] are behind on"):
        pizzas.commit(older)
    assert pizzas.column("id", BAD) == list(range(10))
    assert clear(pizzas, decided) == []
    run_to_the_end(pizzas)
    assert both_whole(pizzas, 30)


def test_zombie_commit_after_decided_rollback_doubles_nothing(pipeline: MakePipeline) -> None:
    pizzas = two_tables(pipeline)
    run_each(pizzas, 0, 10)
    pizzas.produce(ids(20, 30))
    plan = pizzas.plan()
    pizzas.write(plan)
    zombie, (slice_,) = SliceCommitter(plan, pizzas.connector), plan.slices
    announced = pizzas.committer(plan).announcements([plan.slice_id(slice_)])[plan.slice_id(slice_)]
    pizzas.commit(plan)
    roll_back(pizzas, snapshot_ids(pizzas)[0])
    decided = pizzas.plan(rolled_back={BAD: "replay"})
    zombie.commit(slice_, announced)
    clear(pizzas, decided)
    run_to_the_end(pizzas)
    assert both_whole(pizzas, 30)


# -- what was changed meanwhile ---------------------------------------------------------------------------------------


def test_rollback_of_removed_topic_asks_for_the_topic(pipeline: MakePipeline, topic: Callable[..., str]) -> None:
    pizzas = two_tables(pipeline)
    both, other = with_another_topic(pizzas, topic())
    for start in (0, 10):
        other.produce(ids(100 + start, 110 + start))
        run_each(both, start)
    roll_back(both, snapshot_ids(both)[0])
    with pytest.raises(PlanRefused, match="Configure the topic"):
        pizzas.plan(rolled_back={BAD: "replay"})
    both.run(rolled_back={BAD: "replay"})
    run_to_the_end(both)
    run_each(pizzas, 20)
    assert pizzas.column("id", BAD) == [*range(30), *range(100, 120)]


@pytest.mark.parametrize("is_java", [False, True], ids=["by PyIceberg", "by Java"])
def test_rollback_whose_history_expired_is_refused_then_accepted(
    pipeline: MakePipeline, tmp_path: Path, is_java: bool
) -> None:
    pizzas = two_tables(pipeline)
    run_each(pizzas, 0, 10, 20)
    gone = snapshot_ids(pizzas)
    roll_back(pizzas, gone[0])
    pizzas.produce(ids(30, 40))
    run_behind(pizzas)
    pizzas.table(BAD).append(pa.table({"id": pa.array([-1], pa.int64())}))
    if is_java:
        expire_as_java(pizzas, tmp_path, BAD, set(gone))
    else:
        pizzas.table(BAD).maintenance.expire_snapshots().by_ids(gone).commit()
    run_behind(pizzas)
    with pytest.raises(TableRefused, match=r'cannot find out which offsets it lost.*"accept".*replay what is missing'):
        pizzas.plan(rolled_back={BAD: "replay"})
    pizzas.run(rolled_back={BAD: "accept"})
    run_to_the_end(pizzas)
    assert pizzas.column("id", BAD) == [-1, *range(10), *range(30, 40)]
    asked = {"tables": [BAD], "ranges": {"0": [10, 30]}, "overlap": "append"}
    replay = draft_replay(pizzas.connector, pizzas.settings, asked).plan
    open_replay(replay, pizzas.connector, pizzas.settings, pizzas.key(replay))
    pizzas.write(replay)
    pizzas.commit(replay)
    assert pizzas.column("id", BAD) == [-1, *range(40)]
