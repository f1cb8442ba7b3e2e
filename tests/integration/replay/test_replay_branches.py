"""Replays into a branch: main stays as it was."""

from __future__ import annotations

import pytest

from floe.config import Connector, restore_config
from floe.config.exceptions import ConfigError
from floe.model.exceptions import PlanRefused
from floe.tables.exceptions import TableRefused
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import read_ids
from tests.support.runs.replays import drafted, replay, trace


def test_new_branch_equals_main_and_skip_into_it_adds_nothing(eaten: Pipeline) -> None:
    assert drafted(eaten, branch="audit").plan.slices == ()
    replay(eaten, branch="audit", ranges={"0": [0, 10]}, overlap="append")
    assert read_ids(eaten, branch="audit") == sorted([*range(300), *range(10)])
    assert read_ids(eaten, branch="main") == list(range(300))
    assert eaten.position() == {0: 100, 1: 100, 2: 100}


def test_branch_is_kept_in_plan_and_connector_keeps_its_own(eaten: Pipeline) -> None:
    plan = drafted(eaten, branch="audit").plan
    target: Connector = restore_config(plan.config, eaten.connector)
    assert (target.settings.default.branch, eaten.connector.settings.default.branch) == ("audit", None)


def test_a_branch_that_cannot_be_is_refused(eaten: Pipeline) -> None:
    with pytest.raises(ConfigError, match="default-commit-branch"):
        drafted(eaten, branch="a\nb")


def test_replay_does_not_write_to_main_against_connector_file(eaten: Pipeline) -> None:
    audited = eaten.changed(**{"iceberg.tables.default-commit-branch": "audit"})
    before = trace(eaten)
    with pytest.raises(PlanRefused, match=r"branch main: the connector file commits 'db.t' to another branch"):
        drafted(audited, branch="main", ranges={"0": [0, 10]}, overlap="append")
    assert trace(eaten) == before


def test_a_tag_is_no_branch(eaten: Pipeline) -> None:
    table = eaten.table()
    snapshot = table.current_snapshot()
    assert snapshot is not None
    table.manage_snapshots().create_tag(snapshot.snapshot_id, "q1").commit()
    with pytest.raises(TableRefused, match=r"'q1'.*is a tag"):
        drafted(eaten, branch="q1")


def test_a_dotted_branch_is_no_other_connectors_ledger(pipeline: MakePipeline) -> None:
    one = pipeline()
    one.produce([{"id": i} for i in range(5)])
    one.run()
    other = one.changed(name=f"{one.connector.name}.x")
    with pytest.raises(PlanRefused, match=r"branch 'x\.main' has a dot"):
        replay(one, branch="x.main", overlap="append")
    other.run()
    assert one.column("id") == sorted([*range(5), *range(5)])
