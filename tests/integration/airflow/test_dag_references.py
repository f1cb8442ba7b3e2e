"""A connector whose converter is the worker's, and whose catalog is by reference, in a real Airflow."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.airflow import Deployment, first_run
from tests.support.connectors import JSON

URI, WAREHOUSE = "iceberg.catalog.uri", "iceberg.catalog.warehouse"


@pytest.mark.full
def test_worker_defaults_and_references_reach_every_task(
    deployment: Deployment, topic: Callable[..., str], tmp_path: Path
) -> None:
    pizzas = deployment.add(topic(1), tmp_path)
    file = deployment.connectors / f"{pizzas.connector.name}.json"
    keys = json.loads(file.read_text())
    secrets = deployment.connectors.parent / "secrets"
    secret = secrets / pizzas.connector.name
    secret.write_text(f"{keys[URI]}\n")
    given = {
        **{key: value for key, value in keys.items() if key not in JSON},
        URI: f"${{secrets:{secrets}:{secret.name}}}",
        WAREHOUSE: f"${{conn:warehouse:extra.prefix}}{tmp_path}/warehouse",
    }
    file.write_text(json.dumps(given))
    pizzas.produce({"id": i} for i in range(100))
    deployment.dag(pizzas.connector.name)
    run = first_run(deployment, pizzas)
    assert run.state == "success", "\n".join(run.log(task) for task in run.tasks)
    assert pizzas.column("id") == list(range(100))

    path = f"/api/v2/dags/{run.dag_id}/dagRuns/{run.run_id}/taskInstances/plan/xcomEntries/return_value?stringify=false"
    plan = deployment.airflow.rest.call("GET", path)["value"]
    assert plan["config"][URI] in (given[URI], f"${{floe:{URI}}}")
    assert plan["config"][WAREHOUSE] == given[WAREHOUSE]
    assert plan["config"]["value.converter.schemas.enable"] == "false"
    assert str(keys[URI]) not in "\n".join([json.dumps(plan), *(run.log(task) for task in run.tasks)])

    moved = secret.rename(secrets / "moved")
    pizzas.produce({"id": i} for i in range(100, 120))
    failed = deployment.run(pizzas)
    assert failed.state == "failed" and f"{secret} cannot be read: No such file" in failed.log("plan")
    moved.rename(secret)
    assert failed.clear() == "success"
    assert pizzas.column("id") == list(range(120))
