"""Positions say which connector moves them: one that is made to act as another is refused, with both names."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from floe.model.exceptions import PositionOwned
from floe.planning.replay_plan import draft_replay
from floe.takeover.hand_back import hand_back
from floe.takeover.take_over import take_over
from tests.support.runs.mishaps import commit_as, run_to_the_end
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import ids


def owners(pizzas: Pipeline) -> set[str | None]:
    positions = pizzas.positions()
    return {json.loads(p.metadata).get("owner") for p in positions.values()}


def as_another(pizzas: Pipeline) -> Pipeline:
    """Return another connector, whose file gives it the group of this one."""
    more = {"name": f"other-{pizzas.connector.name}", "iceberg.tables": "db.other"}
    return pizzas.changed(**{**more, "iceberg.connect.group-id": pizzas.connector.group_id})


def test_a_connector_moves_no_position_of_another(pipeline: MakePipeline) -> None:
    pizzas = pipeline(2)
    pizzas.produce(ids(0, 50))
    pizzas.run()
    assert owners(pizzas) == {pizzas.connector.name}
    pizzas.produce(ids(50, 80))
    other = as_another(pizzas)
    before = pizzas.position()
    names = rf"connector '{pizzas.connector.name}', this is connector '{other.connector.name}'"
    with pytest.raises(PositionOwned, match=names):
        other.plan()
    with pytest.raises(PositionOwned, match=names):
        draft_replay(other.connector, other.settings, {})
    with pytest.raises(PositionOwned, match=names):
        take_over(other.connector, other.settings)
    with pytest.raises(PositionOwned, match=names):
        hand_back(other.connector, other.settings)
    assert pizzas.position() == before
    pizzas.run()
    assert pizzas.column("id") == list(range(80))


def test_a_commit_for_another_owner_commits_nothing(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, 50))
    plan = pizzas.plan()
    pizzas.write(plan)
    (position,) = pizzas.positions().values()
    commit_as(pizzas, 0, replace(position.metadata_fields, owner="other").encode())
    with pytest.raises(PositionOwned, match="connector 'other', this is connector"):
        pizzas.commit(plan)
    assert pizzas.table().current_snapshot() is None
    pizzas.run(recover=True)
    assert owners(pizzas) == {pizzas.connector.name}
    assert pizzas.column("id") == list(range(50))


def test_a_position_without_an_owner_gets_one(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, 50))
    pizzas.run()
    (position,) = pizzas.positions().values()
    commit_as(pizzas, 50, replace(position.metadata_fields, owner="").encode())
    assert owners(pizzas) == {None}
    plan = pizzas.plan()
    assert owners(pizzas) == {pizzas.connector.name}
    assert plan.slices == ()


def test_a_renamed_connector_recovers_its_positions(pipeline: MakePipeline) -> None:
    pizzas = pipeline(2)
    pizzas.produce(ids(0, 50))
    pizzas.run()
    pizzas.produce(ids(50, 60))
    renamed = pizzas.changed(name="renamed", **{"iceberg.connect.group-id": pizzas.connector.group_id})
    with pytest.raises(PositionOwned, match="`recover`"):
        renamed.plan()
    renamed.run(recover=True)
    assert owners(renamed) == {"renamed"}
    run_to_the_end(renamed)
    assert renamed.column("id") == list(range(60))
