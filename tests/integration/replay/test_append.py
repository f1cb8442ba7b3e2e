"""Replays that append: a range is added again, once for each request."""

from __future__ import annotations

from typing import Any

import pytest

from floe.model.plan import Plan
from floe.planning.replay_plan import open_replay
from floe.tables.exceptions import SliceNotWritten
from tests.support.runs.pipeline import Pipeline
from tests.support.runs.replays import drop, opened, replay


def test_append_adds_its_range_again_and_repeated_steps_nothing(eaten: Pipeline) -> None:
    plan, effective = opened(eaten, ranges={"1": [0, 10]}, overlap="append", max_records=4)
    effective.write(plan)
    effective.commit(plan)
    wanted = sorted([*range(300), *range(100, 110)])
    assert eaten.column("id") == wanted
    open_replay(plan, effective.connector, effective.settings, effective.key(plan))
    effective.commit(plan)
    assert eaten.column("id") == wanted
    effective.write(plan)
    effective.commit(plan)
    assert eaten.column("id") == wanted
    assert eaten.position() == {0: 100, 1: 100, 2: 100}


def test_two_appends_of_one_range_add_it_twice_each_once(eaten: Pipeline) -> None:
    plans = [opened(eaten, ranges={"0": [0, 10]}, overlap="append", max_records=5) for _ in range(2)]
    for plan, effective in plans:
        effective.write(plan)
    for _ in range(2):
        for plan, effective in plans:
            effective.commit(plan)
    assert eaten.column("id") == sorted([*range(300), *range(10), *range(10)])


def test_append_continues_at_its_unwritten_second_slice(eaten: Pipeline) -> None:
    plan, effective = opened(eaten, ranges={"0": [0, 12]}, overlap="append", max_records=4)
    one_slice = Plan.from_json({**plan.to_json(), "slices": plan.to_json()["slices"][:1]})
    effective.write(one_slice)
    with pytest.raises(SliceNotWritten, match="Clear the write task"):
        effective.committer(plan).commit([plan.slice_id(plan.slices[0])])
    effective.write(plan)
    effective.commit(plan)
    effective.commit(plan)
    assert eaten.column("id") == sorted([*range(300), *range(12)])


def test_append_stops_at_uncommitted_slice_and_continues_there(
    eaten: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    import floe.commit.slice_commit as landing
    from floe.tables.exceptions import TableNotCommitted

    plan, effective = opened(eaten, ranges={"0": [0, 12]}, overlap="append", max_records=4)
    effective.write(plan)
    real, calls = landing.commit_table, []

    def fails_once(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 1:
            msg = "conflicts for as long as anybody waited"
            raise TableNotCommitted(msg)
        return real(*args)

    monkeypatch.setattr(landing, "commit_table", fails_once)
    with pytest.raises(TableNotCommitted):
        effective.commit(plan)
    assert eaten.column("id") == list(range(300)), "a later slice landed before an earlier one: its id hides the gap"
    effective.commit(plan)
    assert eaten.column("id") == sorted([*range(300), *range(12)])


def test_append_into_empty_table_is_in_ledger_afterwards(eaten: Pipeline) -> None:
    drop(eaten)
    replay(eaten, ranges={"0": [0, 50]}, overlap="append")
    replay(eaten)
    assert eaten.column("id") == list(range(300))
