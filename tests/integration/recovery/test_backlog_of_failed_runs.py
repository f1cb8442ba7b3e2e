"""Debts through runs that fail, are cleared late, or meet a changed connector: no row missing, none twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from floe.catalogs.exceptions import CatalogMisconfigured
from floe.commit import slice_commit
from floe.commit.table_commit import TableCommit, commit_table
from floe.control.table_work import TableWork
from floe.kafka import transactions
from floe.kafka.exceptions import PositionFull
from floe.model.exceptions import PlanRefused, Superseded
from floe.model.plan import Plan, SliceKind
from floe.planning.live_plan import open_plan
from floe.tables.exceptions import SliceNotWritten, TableNotCommitted, TablesBehind
from floe.tables.lake import Lake
from floe.tables.table_state import SchemaUpdate, TableState
from tests.support.runs.mishaps import (
    BAD,
    GOOD,
    both_whole,
    break_ledger,
    clear,
    held,
    owe,
    roll_back,
    run_behind,
    run_each,
    run_to_the_end,
    snapshot_ids,
    two_tables,
    with_another_topic,
)
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import ids


def catching_up(pipeline: MakePipeline) -> tuple[Pipeline, Plan]:
    """Return a connector of which BAD is behind by 20 of 30 records, and a plan that reads those, and for GOOD the rest."""
    pizzas = two_tables(pipeline)
    owe(pizzas, 0, 20)
    pizzas.produce(ids(20, 30))
    plan = pizzas.plan(20)
    assert [[(r.start, r.end) for r in s.ranges] for s in plan.slices] == [[(20, 30)], [(0, 20)]]
    return pizzas, plan


# -- a live slice that left an owing table out ------------------------------------------------------------------------


def test_live_slice_cleared_after_catch_up_makes_backlog_again(pipeline: MakePipeline) -> None:
    pizzas, plan = catching_up(pipeline)
    (catch_up,) = (s for s in plan.slices if s.kind is SliceKind.CATCH_UP)
    pizzas.write_slice(plan, catch_up)
    with pytest.raises(SliceNotWritten):
        pizzas.committer(plan).commit([])
    assert pizzas.backlogs() == {}
    assert [type(error) for error in clear(pizzas, plan)] == [TablesBehind]
    assert pizzas.backlogs() == {0: {BAD: 20}}
    run_to_the_end(pizzas)
    assert both_whole(pizzas, 30)


def test_live_slice_committed_by_second_try_makes_backlog(
    pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_bad(lake: Lake, work: TableWork, timeout_s: float) -> TableCommit:
        if work.table == GOOD:
            msg = "another process committed first, every time"
            raise TableNotCommitted(msg)
        return commit_table(lake, work, timeout_s)

    pizzas, plan = catching_up(pipeline)
    pizzas.write(plan)
    with monkeypatch.context() as patch, pytest.raises(TableNotCommitted):
        patch.setattr(slice_commit, "commit_table", only_bad)
        pizzas.commit(plan)
    assert pizzas.column("id", BAD) == list(range(20))
    with pytest.raises(TablesBehind, match=r"db\.bad.*\[20, 30\)"):
        pizzas.commit(plan)
    run_to_the_end(pizzas)
    assert both_whole(pizzas, 30)


def test_two_failed_runs_cleared_in_their_order_leave_no_hole(pipeline: MakePipeline) -> None:
    pizzas = two_tables(pipeline)
    owe(pizzas, 0, 20)
    first = pizzas.plan()
    pizzas.write(first)
    pizzas.produce(ids(20, 30))
    second = pizzas.plan()
    assert clear(pizzas, first) == []
    assert [type(error) for error in clear(pizzas, second)] == [TablesBehind]
    run_to_the_end(pizzas)
    assert both_whole(pizzas, 30)


def test_a_run_cleared_after_the_debt_was_forgiven_is_superseded(pipeline: MakePipeline) -> None:
    pizzas = two_tables(pipeline)
    owe(pizzas, 0, 20)
    pizzas.produce(ids(20, 30))
    before, forgiving = pizzas.plan(), pizzas.plan(drop_backlog=[BAD])
    assert [type(error) for error in clear(pizzas, before)] == [Superseded]
    assert clear(pizzas, forgiving) == []
    run_to_the_end(pizzas)
    assert pizzas.column("id", GOOD) == list(range(30))
    assert pizzas.column("id", BAD) == list(range(20, 30))
    assert held(pizzas) == [[(20, 30)]]


# -- debts that cannot be recorded, and tables that refuse ------------------------------------------------------------


def test_forgiving_helps_where_a_position_has_no_room_for_debts(
    pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    pizzas = two_tables(pipeline)
    run_each(pizzas, 0)
    repair = break_ledger(pizzas)
    pizzas.produce(ids(10, 20))
    plan = pizzas.plan()
    (position,) = plan.positions
    with monkeypatch.context() as patch:
        patch.setattr(transactions, "MAX_METADATA_LENGTH", len(position.metadata) + 5)
        pizzas.try_write(plan)
        with pytest.raises(PositionFull, match="drop_backlog"):
            pizzas.committer(plan).commit([])
        assert pizzas.position() == {0: 10}
        plan = pizzas.plan(drop_backlog=[BAD])
        pizzas.try_write(plan)
        pizzas.committer(plan).commit([])
    assert pizzas.position() == {0: 20}
    assert pizzas.backlogs() == {}
    repair()
    run_each(pizzas, 20)
    assert pizzas.column("id", GOOD) == list(range(30))
    assert pizzas.column("id", BAD) == [*range(10), *range(20, 30)]
    assert held(pizzas) == [[(0, 10), (20, 30)]]


def test_table_that_may_not_be_altered_has_backlog_other_none(
    pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    evolve = Lake.evolve

    def refused(lake: Lake, state: TableState, changes: SchemaUpdate) -> TableState:
        if state.name == BAD:
            msg = f"not allowed to change table {BAD!r}"
            return state.refused(CatalogMisconfigured(msg))
        return evolve(lake, state, changes)

    pizzas = two_tables(pipeline)
    run_each(pizzas, 0)
    pizzas.produce([{"id": i, "new": 1} for i in range(10, 20)])
    with monkeypatch.context() as patch:
        patch.setattr(Lake, "evolve", refused)
        assert "not allowed to change" in str(run_behind(pizzas))
        assert "db.bad" in str(run_behind(pizzas))
    assert pizzas.column("id", GOOD) == list(range(20))
    assert pizzas.column("id", BAD) == list(range(10))
    run_to_the_end(pizzas)
    assert both_whole(pizzas, 20)


# -- topics and tables that are taken out -----------------------------------------------------------------------------


@pytest.mark.parametrize("drop_backlog", [False, True], ids=["topic put back", "backlog dropped"])
def test_a_debt_of_a_topic_that_was_taken_out_is_refused(
    pipeline: MakePipeline, topic: Callable[..., str], drop_backlog: bool
) -> None:
    pizzas = two_tables(pipeline)
    both, other = with_another_topic(pizzas, topic())
    other.produce(ids(100, 110))
    owe(both, 0, 10)
    pizzas.produce(ids(10, 20))
    with pytest.raises(PlanRefused, match=rf"are behind on {other.topic}-0.*Configure the topic"):
        pizzas.plan()
    if drop_backlog:
        both.run(drop_backlog=[BAD])
    run_to_the_end(both)
    run_to_the_end(pizzas)
    assert pizzas.backlogs() == {}
    assert pizzas.column("id", GOOD) == [*range(20), *range(100, 110)]
    assert pizzas.column("id", BAD) == (list(range(10, 20)) if drop_backlog else pizzas.column("id", GOOD))


def test_a_ledger_claims_nothing_that_was_read_without_its_table(pipeline: MakePipeline) -> None:
    pizzas = two_tables(pipeline)
    alone = pizzas.changed(**{"iceberg.tables": GOOD})
    run_each(pizzas, 0)
    run_each(alone, 10)
    run_each(pizzas, 20)
    assert held(pizzas) == [[(0, 10), (20, 30)]]
    roll_back(pizzas, snapshot_ids(pizzas)[0])
    pizzas.run(rolled_back={BAD: "replay"})
    run_to_the_end(pizzas)
    assert pizzas.column("id", BAD) == [*range(10), *range(20, 30)]


def test_plan_cleared_after_table_removal_claims_no_rows_for_it(pipeline: MakePipeline) -> None:
    pizzas = two_tables(pipeline)
    alone = pizzas.changed(**{"iceberg.tables": GOOD})
    run_each(pizzas, 0)
    pizzas.produce(ids(10, 20))
    with_both = pizzas.plan()
    plan = alone.plan()
    alone.write(plan)
    with pytest.raises(Superseded):
        open_plan(with_both, pizzas.connector, pizzas.settings, pizzas.key(with_both))
    alone.commit(plan)
    run_each(pizzas, 20)
    assert pizzas.column("id", GOOD) == list(range(30))
    assert pizzas.column("id", BAD) == [*range(10), *range(20, 30)]
    assert held(pizzas) == [[(0, 10), (20, 30)]]
