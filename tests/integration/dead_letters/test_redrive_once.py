"""Dead letters read again by runs that fail, meet or are repeated: rows once, each dead letter resolved once."""

from __future__ import annotations

import pytest

from floe.catalogs.client import CatalogClient
from floe.commit.slice_commit import SliceCommitter
from floe.commit.table_commit import commit_table
from floe.control.table_work import TableWork
from floe.model.plan import Plan
from floe.tables.exceptions import SliceStale
from floe.tables.lake import Lake
from tests.support.runs.mishaps import roll_back
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.redrive import DEAD_LETTERS, DEAD_LETTERS_KEY, REDRIVE, announced, order, schema_of_text, states
from tests.support.runs.replays import drafted, drop, fix_table, opened, replay


def test_between_the_rows_and_the_marks_a_run_may_die_and_go_on(
    spoilt: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    fix_table(spoilt)
    plan, one = opened(spoilt, **REDRIVE)
    one.write(plan)
    dies_before_the_marks(monkeypatch, one, plan)
    assert (spoilt.column("id"), states(spoilt)["resolved"]) == (list(range(20)), [])
    one.commit(plan)
    assert (spoilt.column("id"), states(spoilt)["resolved"]) == (list(range(20)), [5, 6, 7, 8, 9])


def dies_before_the_marks(monkeypatch: pytest.MonkeyPatch, one: Pipeline, plan: Plan) -> None:
    class Killed(Exception):
        """In place of SIGKILL."""

    def kill(*_: object) -> bool:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(SliceCommitter, "_mark_resolved", kill)
        one.commit(plan)


def test_redrive_abandoned_halfway_is_completed_by_another(spoilt: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    fix_table(spoilt)
    plan, one = opened(spoilt, **REDRIVE)
    one.write(plan)
    dies_before_the_marks(monkeypatch, one, plan)
    (message,) = drafted(spoilt, **REDRIVE).dead_letters
    assert (message.dead_letters, message.recovered) == (5, 5)
    replay(spoilt, **REDRIVE)
    assert (spoilt.column("id"), states(spoilt)["resolved"]) == (list(range(20)), [5, 6, 7, 8, 9])
    one.commit(plan)
    assert (spoilt.column("id"), states(spoilt)["resolved"]) == (list(range(20)), [5, 6, 7, 8, 9])


@pytest.mark.parametrize("written_after", [False, True], ids=["both-written", "written-after"])
def test_two_re_drives_planned_at_once_append_once(spoilt: Pipeline, *, written_after: bool) -> None:
    fix_table(spoilt)
    first, one = opened(spoilt, **REDRIVE)
    second, other = opened(spoilt, ranges={"0": [7, None]}, **REDRIVE)
    one.write(first)
    if not written_after:
        other.write(second)
    one.commit(first)
    if written_after:
        other.write(second)
        other.commit(second)
    else:
        with pytest.raises(SliceStale, match=r"another run wrote the rows of some of its dead letters"):
            other.commit(second)
    assert spoilt.column("id") == list(range(20))
    assert states(spoilt)["resolved"] == [5, 6, 7, 8, 9]
    assert replay(spoilt, **REDRIVE).slices == ()


def test_two_redrives_committed_crosswise_are_completed_by_third(pipeline: MakePipeline) -> None:
    one = pipeline(**{DEAD_LETTERS_KEY: DEAD_LETTERS, "iceberg.tables": "db.a,db.b"})
    one.produce([order(0)])
    one.run()
    one.produce([order(1, "many")])
    one.run()
    fix_table(one, "db.a")
    fix_table(one, "db.b")
    plans = [opened(one, **REDRIVE) for _ in range(2)]
    for plan, effective in plans:
        effective.write(plan)
    for (plan, effective), table in zip(plans, ("db.a", "db.b"), strict=True):
        found = announced(effective, plan)
        (table_files,) = [s for s in found.files if s.table == table]
        commit_table(Lake.of(effective.connector, plan.cluster_id), TableWork.of(plan, found, table_files), 5)
    for plan, effective in plans:
        with pytest.raises(SliceStale):
            effective.commit(plan)
    assert states(one)["resolved"] == []
    replay(one, **REDRIVE)
    assert one.column("id", "db.a") == one.column("id", "db.b") == [0, 1]
    assert states(one)["resolved"] == [1, 1]


def test_dead_letter_recovered_by_other_replay_is_resolved(spoilt: Pipeline) -> None:
    drop(spoilt)
    CatalogClient.of(spoilt.connector).create("db.t", schema_of_text())
    replay(spoilt)
    assert spoilt.column("id") == list(range(20))
    assert states(spoilt)["resolved"] == [5, 6, 7, 8, 9]
    assert replay(spoilt, **REDRIVE).slices == ()


def test_run_read_again_over_fixed_table_resolves_dead_letters(
    pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = pipeline(**{DEAD_LETTERS_KEY: DEAD_LETTERS})
    one.produce([order(0)])
    one.run()
    one.produce([order(1, "many"), order(2)])
    plan = one.plan()
    one.write(plan)
    found = announced(one, plan)
    (table_files,) = [s for s in found.files if s.table == DEAD_LETTERS]
    commit_table(Lake.of(one.connector, plan.cluster_id), TableWork.of(plan, found, table_files), 5)
    fix_table(one)
    again = one.plan()
    one.write(again)
    dies_before_the_marks(monkeypatch, one, again)
    assert (one.column("id"), states(one)) == ([0, 1, 2], {"dead": [1], "resolved": []})
    one.run()  # reads the range a third time: the table holds all of it, the mark is missing
    assert (one.column("id"), states(one)) == ([0, 1, 2], {"dead": [1], "resolved": [1]})


def test_rows_that_a_rollback_took_away_come_back_and_only_once(spoilt: Pipeline) -> None:
    fix_table(spoilt)
    before = spoilt.table().current_snapshot()
    assert before is not None
    replay(spoilt, **REDRIVE)
    with spoilt.table().manage_snapshots() as change:
        change.rollback_to_snapshot(before.snapshot_id)
    spoilt.run(rolled_back={"db.t": "replay"})
    while spoilt.run().slices:
        pass
    assert spoilt.column("id") == list(range(20))
    assert replay(spoilt, **REDRIVE).slices == ()
    assert replay(spoilt).slices == ()


def test_branch_set_to_redriven_snapshot_gets_no_row_twice(spoilt: Pipeline) -> None:
    fix_table(spoilt)
    replay(spoilt, branch="audit", **REDRIVE)
    audit = spoilt.table().snapshot_by_name("audit")
    assert audit is not None
    roll_back(spoilt, audit.snapshot_id, "db.t")
    assert spoilt.column("id") == list(range(20))
    spoilt.run(rolled_back={"db.t": "accept"})
    replay(spoilt, **REDRIVE)
    assert spoilt.column("id") == list(range(20))
    assert states(spoilt)["resolved"] == [5, 6, 7, 8, 9]
