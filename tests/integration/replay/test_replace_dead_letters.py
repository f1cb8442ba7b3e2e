"""Replacing where dead letters are: no record has a row and a letter, or neither, whatever lands first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyiceberg.types import LongType

from floe.commit.slice_commit import SliceCommitter
from floe.model.plan import Plan
from floe.tables.exceptions import SliceStale, TableRefused
from tests.support.runs.mishaps import roll_back
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.replacements import META, REPLACE, append_foreign, kinds
from tests.support.runs.replays import drafted, drop, fix_table, opened, replay


def test_a_re_drive_that_lands_first_keeps_its_rows(pipeline: MakePipeline) -> None:
    one = with_a_letter(pipeline)
    plan, effective = opened(one, **REPLACE)
    effective.write(plan)
    fix_table(one)
    replay(one, dead_letters=True)
    assert (one.column("id"), kinds(one)) == ([0, 1, 2, 3], ["dead", "resolved"])
    with pytest.raises(SliceStale, match=r"made rows of dead letters of its range meanwhile.*Trigger the replay again"):
        effective.commit(plan)
    assert (one.column("id"), kinds(one)) == ([0, 1, 2, 3], ["dead", "resolved"])
    for _ in range(2):
        replay(one, **REPLACE)
        assert (one.column("id"), kinds(one)) == ([0, 1, 2, 3], ["dead", "resolved"])


@pytest.mark.parametrize("late", [REPLACE, {"dead_letters": True}], ids=["replace", "re-drive"])
def test_slice_after_redrive_and_other_replace_is_stale(pipeline: MakePipeline, late: dict[str, Any]) -> None:
    one = with_a_letter(pipeline)
    if "dead_letters" in late:
        fix_table(one)
    plan, effective = opened(one, **late)
    effective.write(plan)
    if "dead_letters" not in late:
        fix_table(one)
    replay(one, dead_letters=True)
    replay(one, **REPLACE)
    with pytest.raises(SliceStale):
        effective.commit(plan)
    assert (one.column("id"), kinds(one)) == ([0, 1, 2, 3], ["dead", "resolved"])


def test_a_replacement_does_not_land_over_one_that_made_letters(pipeline: MakePipeline) -> None:
    one = with_a_letter(pipeline)
    fix_table(one)
    replay(one, dead_letters=True)
    plan, effective = opened(one, **REPLACE)
    effective.write(plan)
    spoil_again(one)
    replay(one, **REPLACE)
    assert (one.column("id"), kinds(one)) == ([0, 1, 3], ["dead", "dead", "resolved"])
    with pytest.raises(SliceStale, match=r"1 records of slice .* got dead letters since .*Trigger the replay again"):
        effective.commit(plan)
    assert (one.column("id"), kinds(one)) == ([0, 1, 3], ["dead", "dead", "resolved"])


def drop_and_fill(one: Pipeline) -> str:
    drop(one)
    for ranges in ({"0": [2, 3]}, {}):  # the text first, so that the column is one of text
        replay(one, ranges=ranges)
    return "was replaced after its files were written"


def add_a_row_of_nowhere(one: Pipeline) -> str:
    append_foreign(one, kafka_offset=None)
    return "rows without topic, partition or offset"


@pytest.mark.parametrize("happens", [drop_and_fill, add_a_row_of_nowhere])
def test_dead_letters_of_replace_refused_by_table_are_not_kept(
    pipeline: MakePipeline, happens: Callable[[Pipeline], str]
) -> None:
    one = with_a_letter(pipeline)
    fix_table(one)
    replay(one, dead_letters=True)
    spoil_again(one)
    plan, effective = opened(one, **REPLACE)
    (written,) = effective.write(plan)
    assert written.tables["db.t"].counts.dead == 1
    refusal = happens(one)
    before = one.column("id"), kinds(one)
    with pytest.raises(TableRefused, match=refusal):
        effective.commit(plan)
    assert (one.column("id"), kinds(one)) == before
    assert kinds(one) == ["dead", "resolved"]


def test_branch_set_to_replaced_snapshot_keeps_its_ledger(pipeline: MakePipeline) -> None:
    one = with_a_letter(pipeline)
    fix_table(one)
    replay(one, branch="audit", **REPLACE)
    audit = one.table().snapshot_by_name("audit")
    assert audit is not None
    roll_back(one, audit.snapshot_id, "db.t")
    assert one.column("id") == [0, 1, 2, 3]
    one.run(rolled_back={"db.t": "accept"})
    replay(one, dead_letters=True)
    assert (one.column("id"), kinds(one)) == ([0, 1, 2, 3], ["dead", "resolved"])
    assert replay(one).slices == ()


@pytest.mark.parametrize("how", ["replay", "accept"])
def test_rollback_past_replace_with_dead_letters_warns(
    pipeline: MakePipeline, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    one = with_a_letter(pipeline)
    fix_table(one)
    replay(one, dead_letters=True)
    before = one.table().current_snapshot()
    assert before is not None
    spoil_again(one)
    plan = replay(one, **REPLACE)
    roll_back(one, before.snapshot_id, "db.t")
    one.run(rolled_back={"db.t": how})
    assert f"rolled back past a replacement (slice {plan.plan_id}/0)" in caplog.text
    fix_table(one)
    replay(one, **REPLACE)
    assert (one.column("id"), kinds(one)) == ([0, 1, 2, 3], ["dead", "dead", "resolved", "resolved"])
    assert replay(one, dead_letters=True).slices == ()


class Killed(BaseException):
    """In place of SIGKILL."""


def killed_between_letters_and_rows(
    pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch
) -> tuple[Pipeline, Plan, Pipeline]:
    """Return a connector whose record 2 has a row, and a dead letter of a replacement that did not remove the row."""
    one = pipeline(**META, **{"floe.deadletter.table": "letters.all"})
    one.produce([{"id": i, "amount": amount} for i, amount in enumerate(["0", "1", "many", "3"])])
    one.run()
    spoil_again(one)
    plan, effective = opened(one, **REPLACE)
    effective.write(plan)

    def kill(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(SliceCommitter, "_commit_tables", kill)
        effective.commit(plan)
    assert (one.column("id"), kinds(one)) == ([0, 1, 2, 3], ["dead"])
    fix_table(one)
    return one, plan, effective


def test_redrive_of_a_killed_replace_adds_no_second_row(
    pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _, _ = killed_between_letters_and_rows(pipeline, monkeypatch)
    replayed = drafted(one, dead_letters=True)
    (left_out,) = replayed.dead_letters
    assert (replayed.plan.slices, left_out.dead_letters) == ((), 1)
    assert "Clear its run or replace the range" in (left_out.left_out or "")
    one.run()
    assert (one.column("id"), kinds(one)) == ([0, 1, 2, 3], ["dead"])
    replay(one, **REPLACE)
    assert (one.column("id"), kinds(one)) == ([0, 1, 2, 3], ["dead", "resolved"])
    assert replay(one, dead_letters=True).slices == ()


def test_killed_replace_that_is_cleared_leaves_the_letter_alone(
    pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, plan, effective = killed_between_letters_and_rows(pipeline, monkeypatch)
    assert replay(one, dead_letters=True).slices == ()
    effective.commit(plan)
    assert (one.column("id"), kinds(one)) == ([0, 1, 3], ["dead"])
    replay(one, dead_letters=True)
    assert (one.column("id"), kinds(one)) == ([0, 1, 2, 3], ["dead", "resolved"])


def spoil_again(one: Pipeline) -> None:
    """Give the table a column again that does not take everything."""
    with one.table().update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("amount")
    with one.table().update_schema() as update:
        update.add_column("amount", LongType())


def with_a_letter(pipeline: MakePipeline) -> Pipeline:
    """A connector that has read four records, one of them with a letter."""
    one = pipeline(**META, **{"floe.deadletter.table": "letters.all"})
    one.produce([{"id": 0, "amount": 0}])
    one.run()
    one.produce([{"id": 1, "amount": 1}, {"id": 2, "amount": "many"}, {"id": 3, "amount": 3}])
    one.run()
    assert (one.column("id"), kinds(one)) == ([0, 1, 3], ["dead"])
    return one
