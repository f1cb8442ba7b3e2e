"""The plan of a run is sealed in Airflow: what its REST API changes in XCom or in the task state is refused."""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from floe.model.exceptions import SealBroken
from floe.model.plan_seal import RunName
from tests.support.airflow import DagRun, Deployment, first_run
from tests.support.json_paths import changed, paths
from tests.support.keys import KEY

PLACES = ("xcomEntries/return_value", "state-store/plan")


class Stored:
    """What Airflow keeps of a run's plan, as its REST API shows it."""

    def __init__(self, run: DagRun) -> None:
        self._rest = run.deployment.airflow.rest
        self._task = f"/api/v2/dags/{run.dag_id}/dagRuns/{urllib.parse.quote(run.run_id)}/taskInstances/plan"

    def get(self, place: str) -> Any:
        return self._rest.call("GET", f"{self._task}/{place}?stringify=false")["value"]

    def set(self, place: str, value: Any) -> None:
        self._rest.call("PATCH", f"{self._task}/{place}", {"value": value})


@pytest.mark.full
def test_plan_changed_by_the_rest_api_is_refused(
    deployment: Deployment, topic: Callable[..., str], tmp_path: Path
) -> None:
    pizzas = deployment.add(topic(1), tmp_path)
    pizzas.produce({"id": i} for i in range(10))
    deployment.dag(pizzas.connector.name)
    run = first_run(deployment, pizzas)
    assert run.state == "success"
    stored, name = Stored(run), RunName(run.dag_id, run.run_id)
    plan = stored.get(PLACES[0])
    for place in PLACES:
        assert stored.get(place) == plan
        KEY.unseal(plan, name)
        for path in paths(plan):
            stored.set(place, changed(plan, path))
            with pytest.raises(SealBroken):
                KEY.unseal(stored.get(place), name)
        stored.set(place, plan)

    elsewhere = changed(plan, ("config", "iceberg.tables"))
    unsealed = {key: value for key, value in elsewhere.items() if key != "seal"}
    for forged in (elsewhere, unsealed):
        stored.set(PLACES[0], forged)
        assert run.clear(["write", "commit"]) == "failed"
        assert run.tasks == {"plan": "success", "write": "failed", "commit": "failed"}
        assert "Trigger a new run" in run.log("write")
        assert "Trigger a new run" in run.log("commit")
    stored.set(PLACES[1], elsewhere)
    assert run.clear() == "failed"
    assert run.tasks["plan"] == "failed"
    assert "does not match its seal" in run.log("plan")
    assert pizzas.column("id") == list(range(10))
    stored.set(PLACES[1], plan)
    assert run.clear() == "success"
    assert len(pizzas.table().snapshots()) == 1


@pytest.mark.full
def test_plan_of_another_run_or_connector_is_refused(
    deployment: Deployment, topic: Callable[..., str], tmp_path: Path
) -> None:
    pizzas = deployment.add(topic(1), tmp_path)
    pasta = deployment.add(pizzas.topic, tmp_path, **{"iceberg.tables": "db.pasta"})
    pizzas.produce({"id": i} for i in range(10))
    for one in (pizzas, pasta):
        deployment.dag(one.connector.name)
    run, other = first_run(deployment, pizzas), first_run(deployment, pasta)
    stored = Stored(run)
    for place in PLACES:
        stored.set(place, Stored(other).get(PLACES[0]))
    assert run.clear() == "failed"
    assert "belongs to another run" in run.log("plan")
    assert pizzas.position() == pasta.position() == {0: 10}
    assert "deployment-key" not in run.log("plan") + run.log("write")
