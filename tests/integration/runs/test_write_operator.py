"""The write task outside of a run: what it does when an earlier try has announced all there is."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from floe.model.exceptions import SealBroken
from floe.model.plan import Plan
from floe.operators.spark import code_archive
from floe.operators.write import WriteFilesOperator
from floe.planning.live_plan import draft_plan, open_plan
from tests.support.keys import KEY_TEXT
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.task_instance import TaskInstance


@pytest.fixture
def written(pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch) -> tuple[Pipeline, Plan]:
    """A slice that was announced and not committed, and no Spark job to announce it again."""
    pizzas = pipeline()
    pizzas.produce({"id": i} for i in range(100))
    plan = pizzas.plan()
    pizzas.write(plan)
    connection = {"conn_type": "kafka", "extra": {"bootstrap.servers": pizzas.bootstrap}}
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DEFAULT", json.dumps(connection))
    monkeypatch.setenv("FLOE_SECRET_KEY", KEY_TEXT)

    def no_job() -> None:
        msg = "a Spark job was started"
        raise AssertionError(msg)

    monkeypatch.setattr(code_archive, "write_job", no_job)
    return pizzas, plan


def test_retried_write_finds_announcement_and_starts_no_job(written: tuple[Pipeline, Plan]) -> None:
    pizzas, plan = written
    write = WriteFilesOperator(task_id="write", connector=pizzas.connector)
    message = write.execute({"ti": TaskInstance(plan)})  # type: ignore[arg-type]
    assert message["announced"] == [plan.slice_id(plan.slices[0])]
    assert message["tables"]["db.t"]["rows"] == 100
    pizzas.committer(plan).commit(message["announced"])
    assert pizzas.column("id") == list(range(100))


def test_a_write_of_a_committed_plan_has_nothing_to_do(written: tuple[Pipeline, Plan]) -> None:
    pizzas, plan = written
    pizzas.commit(plan)
    write = WriteFilesOperator(task_id="write", connector=pizzas.connector)
    assert write.execute({"ti": TaskInstance(plan)}) == {"announced": [], "tables": {}}  # type: ignore[arg-type]


class Unsealed(TaskInstance):
    """A task instance whose plan was robbed of its seal."""

    def xcom_pull(self, task_ids: str) -> dict[str, Any]:
        return {name: value for name, value in super().xcom_pull(task_ids).items() if name != "seal"}


def test_plan_robbed_of_its_seal_is_refused(written: tuple[Pipeline, Plan]) -> None:
    pizzas, plan = written
    write = WriteFilesOperator(task_id="write", connector=pizzas.connector)
    with pytest.raises(SealBroken, match="seals its plans has opened"):
        write.execute({"ti": Unsealed(plan)})  # type: ignore[arg-type]
    assert pizzas.position() == {0: 0}


def test_plan_from_before_there_was_a_key_is_taken(written: tuple[Pipeline, Plan]) -> None:
    pizzas = replace(written[0], connector=written[0].changed(name="older").connector, deployment_key=None)
    plan = draft_plan(pizzas.connector, pizzas.settings)
    positions = [replace(p, metadata=replace(p.metadata_fields, owner="").encode()) for p in plan.positions]
    plan = replace(plan, positions=tuple(positions))
    open_plan(plan, pizzas.connector, pizzas.settings, None)
    pizzas.write(plan)
    write = WriteFilesOperator(task_id="write", connector=pizzas.connector)
    message = write.execute({"ti": Unsealed(plan)})  # type: ignore[arg-type]
    assert message["tables"]["db.t"]["rows"] == 100
