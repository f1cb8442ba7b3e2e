"""Attacks by the trigger form in a real Airflow: code, and another connector's identity, in the param ``config``."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support.airflow import DagRun, Deployment, first_run
from tests.support.runs.pipeline import Pipeline

PROVIDER = "write.py-location-provider.impl"


@pytest.fixture(scope="module")
def owner(deployment: Deployment, admin: AdminClient, tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    """A connector with 20 records in its table and 20 more in its topic."""
    name = f"owner-{uuid.uuid4().hex[:12]}"
    admin.create_topics([NewTopic(name, num_partitions=1)])[name].result(30)
    pizzas = deployment.add(name, tmp_path_factory.mktemp("owner"))
    pizzas.produce({"id": i} for i in range(20))
    deployment.dag(pizzas.connector.name)
    assert first_run(deployment, pizzas).state == "success"
    pizzas.produce({"id": i} for i in range(20, 40))
    return pizzas


def refused(deployment: Deployment, one: Pipeline, config: dict[str, Any], mark: Path) -> str:
    """Trigger a run that its plan must refuse, which makes no ``mark``, and return the plan's log."""
    run = deployment.run(one, {"config": config})
    assert not mark.exists()
    assert (run.state, run.tasks["write"]) == ("failed", "upstream_failed")
    return run.log("plan")


@pytest.mark.parametrize(
    "key",
    [
        f"iceberg.tables.auto-create-props.{PROVIDER}",
        f"iceberg.tables.write-props.{PROVIDER}",
        "iceberg.tables.auto-create-props.py-io-impl",
    ],
)
def test_code_named_in_a_trigger_form_does_not_run(
    deployment: Deployment, owner: Pipeline, tmp_path: Path, key: str
) -> None:
    mark = tmp_path / "mark"
    text = f"open({str(mark)!r},'w').close()#"
    config = {"iceberg.tables": "db.evil", key: "builtins.exec", "iceberg.catalog.warehouse": text}
    log = refused(deployment, owner, config, mark)
    assert f"{key} is of class file and names code" in log


def test_a_connector_does_not_act_as_another(
    deployment: Deployment, owner: Pipeline, topic: Callable[..., str], tmp_path: Path
) -> None:
    other = Pipeline.make(deployment.broker.bootstrap, topic(1), tmp_path)
    other.produce({"id": i} for i in range(10))
    other.run()
    other.produce({"id": i} for i in range(10, 20))
    keys = ("iceberg.connect.group-id", "iceberg.control.topic")
    values = {keys[0]: other.connector.group_id, keys[1]: other.connector.control_topic, "topics": other.topic}
    log = refused(deployment, owner, values, tmp_path / "none")
    assert all(f"{key} is of class file" in log for key in keys)
    assert other.position() == {0: 10}


def test_a_replay_takes_what_its_class_lets_it(deployment: Deployment, owner: Pipeline) -> None:
    name = f"{owner.connector.name}.replay"
    deployment.airflow.rest.wait_for_dag(name)
    config = {"iceberg.tables.evolve-schema-enabled": "false", "tasks.max": 1}
    conf = {"ranges": {"0": [0, 5]}, "overlap": "append", "config": config}
    run = DagRun(deployment, name, deployment.airflow.rest.trigger(name, conf))
    assert deployment.airflow.rest.wait_for_run(name, run.run_id) == "success"
    assert sorted(owner.column("id")) == sorted([*range(20), *range(5)])
