"""What holds for a replay in every mode: repeated, half written, killed in its commit, beside another one, as a dry run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest

from floe.catalogs.client import CatalogClient
from floe.exceptions import FloeError
from floe.model.plan import Plan
from floe.planning.replay_plan import draft_replay, open_replay
from floe.tables import lake
from floe.tables.exceptions import SliceNotWritten
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.redrive import REDRIVE, connector_with_dead_letters, states
from tests.support.runs.replacements import REPLACE, eaten
from tests.support.runs.replays import bounded, drop, fix_table, opened, trace


@dataclass(frozen=True)
class Mode:
    """A connector to replay, what the replay asks for, which ids it adds each time, and which dead letters it resolves."""

    make: Callable[[MakePipeline], Pipeline]
    params: dict[str, Any]
    ids: range
    added: range = range(0)
    resolved: range = range(0)

    def check(self, one: Pipeline, replays: int = 1) -> None:
        """Check the table, and the dead letters, after some replays."""
        assert one.column("id") == sorted([*self.ids, *(list(self.added) * replays)])
        if self.resolved:
            assert states(one) == {"dead": list(self.resolved), "resolved": list(self.resolved)}


def without_table(pipeline: MakePipeline) -> Pipeline:
    """A connector whose table was dropped."""
    one = eaten(pipeline)
    drop(one)
    return one


def with_fixed_table(pipeline: MakePipeline) -> Pipeline:
    """A connector with dead letters whose table takes them by now."""
    one = connector_with_dead_letters(pipeline)
    fix_table(one)
    return one


MODES = {
    "skip": Mode(without_table, {"max_records": 60}, range(200)),
    "append": Mode(
        eaten, {"ranges": {"1": [0, 10]}, "overlap": "append", "max_records": 4}, range(200), range(100, 110)
    ),
    "replace": Mode(eaten, {"ranges": {"0": [10, 60], "1": [5, 6]}, "max_records": 20, **REPLACE}, range(200)),
    "redrive": Mode(with_fixed_table, {"max_records": 2, **REDRIVE}, range(20), resolved=range(5, 10)),
}


@pytest.fixture(params=MODES.values(), ids=MODES)
def mode(request: pytest.FixtureRequest) -> Mode:
    """Each mode."""
    found: Mode = request.param
    return found


@pytest.fixture
def one(mode: Mode, pipeline: MakePipeline) -> Pipeline:
    """The connector of the mode."""
    return mode.make(pipeline)


def snapshots(one: Pipeline) -> int:
    """Count the snapshots of the table; one that does not exist has none."""
    table = CatalogClient.of(one.connector).load("db.t")
    return len(table.snapshots()) if table else 0


def test_replay_whose_steps_are_repeated_adds_rows_once(mode: Mode, one: Pipeline) -> None:
    positions = one.position()
    plan, effective = opened(one, **mode.params)
    for _ in range(2):
        effective.write(plan)
    effective.commit(plan)
    mode.check(one)
    after = trace(one)[2]
    open_replay(plan, effective.connector, effective.settings, effective.key(plan))
    effective.commit(plan)
    effective.write(plan)
    effective.commit(plan)
    mode.check(one)
    assert trace(one)[2] == after
    assert one.position() == positions


def test_replay_with_an_unwritten_slice_continues_there(mode: Mode, one: Pipeline) -> None:
    plan, effective = opened(one, **mode.params)
    assert len(plan.slices) > 1
    first = Plan.from_json({**plan.to_json(), "slices": plan.to_json()["slices"][:1]})
    effective.write(first)
    with pytest.raises(SliceNotWritten, match="Clear the write task"):
        effective.committer(plan).commit([plan.slice_id(plan.slices[0])])
    effective.write(plan)
    for _ in range(2):
        effective.commit(plan)
    mode.check(one)


class Killed(BaseException):
    """In place of SIGKILL."""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_replay_killed_at_the_catalog_is_committed_once(
    mode: Mode, one: Pipeline, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    plan, effective = opened(one, **mode.params)
    effective.write(plan)
    before = snapshots(one)
    perform = lake.commit_change

    def dying(*given: Any) -> NoReturn:
        if moment == "after":
            perform(*given)
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(lake, "commit_change", dying)
        effective.commit(plan)
    assert snapshots(one) == before + (moment == "after")
    effective.commit(plan)
    mode.check(one)
    assert snapshots(one) == before + len(plan.slices)


@pytest.mark.full
def test_two_replays_planned_at_once_leave_every_record(mode: Mode, one: Pipeline) -> None:
    plans = [opened(one, **mode.params) for _ in range(2)]
    for plan, effective in plans:
        effective.write(plan)
    for _ in range(2):
        for plan, effective in plans:
            with contextlib.suppress(FloeError):  # another run wrote its rows meanwhile
                effective.commit(plan)
    mode.check(one, replays=2)


def test_dry_run_of_a_replay_writes_nothing(mode: Mode, one: Pipeline) -> None:
    before = trace(one)
    report = draft_replay(one.connector, one.settings, bounded(mode.params), dry_run=True)
    assert report.to_json()["slices"] > 1
    assert trace(one) == before
