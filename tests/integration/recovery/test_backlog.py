"""Several tables of one connector: one that refuses is behind, the others are committed, and it catches up without a hole."""

from __future__ import annotations

import pytest

from floe.exceptions import FloeError
from floe.model.exceptions import PlanRefused
from floe.tables.exceptions import TablesBehind
from tests.support.runs.mishaps import BAD, GOOD, owe, replace_table, roll_back, run_behind, two_tables
from tests.support.runs.pipeline import MakePipeline
from tests.support.runs.records import ids


def test_every_table_gets_every_record(pipeline: MakePipeline) -> None:
    pizzas = two_tables(pipeline, partitions=3)
    pizzas.produce(ids(0, 300))
    pizzas.run()
    pizzas.produce([{"id": i, "new": 1} for i in range(300, 400)])
    pizzas.run()
    assert pizzas.column("id", GOOD) == pizzas.column("id", BAD) == list(range(400))
    assert len(pizzas.table(GOOD).snapshots()) == len(pizzas.table(BAD).snapshots()) == 2


def test_table_replaced_before_commit_has_backlog_and_catches_up(pipeline: MakePipeline) -> None:
    pizzas = two_tables(pipeline, partitions=2)
    pizzas.produce(ids(0, 100))
    plan = pizzas.plan()
    pizzas.write(plan)
    replace_table(pizzas, BAD)
    with pytest.raises(TablesBehind, match=r"db\.bad.*is behind.*was replaced.*drop_backlog"):
        pizzas.commit(plan)
    assert pizzas.column("id", GOOD) == list(range(100))
    assert pizzas.column("id", BAD) == []
    assert sum(pizzas.position().values()) == 100
    assert {table for backlog in pizzas.backlogs().values() for table in backlog} == {BAD}

    pizzas.produce(ids(100, 150))
    caught_up = pizzas.run()
    assert [s.kind for s in caught_up.slices] == ["catch-up"] or len(caught_up.slices) == 2
    while pizzas.run().slices:
        pass
    assert pizzas.column("id", GOOD) == pizzas.column("id", BAD) == list(range(150))
    assert pizzas.backlogs() == {}


def test_table_that_keeps_refusing_has_no_gap_for_readers(pipeline: MakePipeline) -> None:
    pizzas = two_tables(pipeline)
    pizzas.produce(ids(0, 50))
    first = pizzas.run()
    assert len(first.slices) == 1
    before = pizzas.table(BAD).current_snapshot()
    pizzas.produce(ids(50, 100))
    pizzas.run()
    assert before is not None
    roll_back(pizzas, before.snapshot_id)
    for end in (150, 200):
        pizzas.produce(ids(end - 50, end))
        message = run_behind(pizzas)
        assert "rolled_back" in str(message) or "is behind" in str(message)
        assert pizzas.column("id", GOOD) == list(range(end))
        assert pizzas.column("id", BAD) == list(range(50))
    assert pizzas.backlogs() == {0: {BAD: 100}}
    # an idle run is as red
    assert "db.bad" in str(run_behind(pizzas))

    plan = pizzas.run(rolled_back={BAD: "replay"})
    assert [(s.kind, s.tables) for s in plan.slices] == [("catch-up", (BAD,))]
    assert pizzas.backlogs() == {}
    assert pizzas.column("id", BAD) == list(range(200))
    pizzas.produce(ids(200, 210))
    pizzas.run()
    assert pizzas.column("id", GOOD) == pizzas.column("id", BAD) == list(range(210))


def test_a_debt_is_caught_up_in_parts_under_a_limit(pipeline: MakePipeline) -> None:
    pizzas = two_tables(pipeline)
    owe(pizzas, 0, 100)
    seen = []
    for _ in range(4):
        plan = pizzas.plan(30)
        pizzas.write(plan)
        try:
            pizzas.commit(plan)
        except TablesBehind:
            seen.append(pizzas.column("id", BAD))
    assert seen == [list(range(30)), list(range(60)), list(range(90))]
    assert pizzas.column("id", BAD) == list(range(100))


def test_dropped_backlog_stays_dropped_and_table_continues(pipeline: MakePipeline) -> None:
    pizzas = two_tables(pipeline)
    owe(pizzas, 0, 100)
    pizzas.produce(ids(100, 120))
    pizzas.run(drop_backlog=[BAD])
    assert pizzas.column("id", GOOD) == list(range(120))
    assert pizzas.column("id", BAD) == list(range(100, 120))
    assert pizzas.backlogs() == {}


def test_when_every_table_refuses_nothing_moves(pipeline: MakePipeline) -> None:
    pizzas = two_tables(pipeline)
    pizzas.produce(ids(0, 50))
    plan = pizzas.plan()
    pizzas.write(plan)
    replace_table(pizzas, GOOD)
    replace_table(pizzas, BAD)
    with pytest.raises(FloeError, match="was replaced"):
        pizzas.commit(plan)
    assert pizzas.position() == {0: 0}
    assert pizzas.backlogs() == {}
    pizzas.run()
    assert pizzas.column("id", GOOD) == pizzas.column("id", BAD) == list(range(50))


def test_backlog_of_table_not_configured_any_more_is_refused(pipeline: MakePipeline) -> None:
    pizzas = two_tables(pipeline)
    owe(pizzas, 0, 50)
    alone = pizzas.changed(**{"iceberg.tables": GOOD})
    with pytest.raises(PlanRefused, match=r"does not write it any more.*drop_backlog"):
        alone.plan()
    alone.run(drop_backlog=[BAD])
    assert pizzas.backlogs() == {}


def test_a_commit_that_is_cleared_while_a_table_owes_stays_red(pipeline: MakePipeline) -> None:
    pizzas = two_tables(pipeline)
    pizzas.produce(ids(0, 50))
    plan = pizzas.plan()
    pizzas.write(plan)
    replace_table(pizzas, BAD)
    for _ in range(2):
        with pytest.raises(TablesBehind):
            pizzas.commit(plan)
    pizzas.run()
    assert pizzas.commit(plan).done
    assert pizzas.column("id", BAD) == list(range(50))
