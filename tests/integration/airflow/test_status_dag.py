"""The DAG ``floe.status`` in a real Airflow: a record of each connector in its variables, until the connector is removed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from floe.status.record import StatusRecord
from floe.status.record_codec import PREFIX, key_of, parse
from stack.exceptions import StackError
from tests.support.airflow import DagRun, Deployment

DAG = "floe.status"


def collected(deployment: Deployment) -> DagRun:
    """Trigger the DAG, which is paused otherwise, and wait for its end."""
    rest = deployment.airflow.rest
    rest.unpause(DAG)
    run_id = rest.trigger(DAG)
    assert rest.wait_for_run(DAG, run_id) == "success"
    rest.pause(DAG)
    return DagRun(deployment, DAG, run_id)


def answered(deployment: Deployment, name: str) -> DagRun:
    """Collect until brokers and catalog of a connector answered in time, as they may not on a busy machine."""
    for _ in range(5):
        run = collected(deployment)
        if not any("did not answer within" in problem for problem in record(deployment, name).status.problems):
            return run
    pytest.fail(f"in 5 runs of {DAG} the brokers or the catalog of {name} did not answer in time")


def all_runs(deployment: Deployment) -> list[DagRun]:
    """Return all its runs: one of its schedule may begin beside the one that is triggered."""
    found = deployment.airflow.rest.call("GET", f"/api/v2/dags/{DAG}/dagRuns?limit=1000")["dag_runs"]
    return [DagRun(deployment, DAG, one["dag_run_id"]) for one in found if one["state"] == "success"]


def record(deployment: Deployment, name: str) -> StatusRecord:
    """Read a record as Airflow has it."""
    found: dict[str, Any] = deployment.airflow.rest.call("GET", f"/api/v2/variables/{key_of(name)}")
    return parse(found["value"])


def test_status_dag_keeps_a_record_of_each_connector(
    deployment: Deployment, topic: Callable[..., str], tmp_path: Path
) -> None:
    pizzas = deployment.add(topic(1), tmp_path)
    name = pizzas.connector.name
    away = deployment.add(topic(1), tmp_path / "away", **{"floe.kafka.conn-id": "no_such_connection"}).connector.name
    pizzas.produce([{"id": i} for i in range(5)])
    pizzas.run()
    pizzas.produce([{"id": 5}])
    deployment.dag(away)
    rest = deployment.airflow.rest
    assert rest.wait_for_run(away, rest.wait_for_scheduled_run(away)) == "failed"
    run = answered(deployment, name)

    found = record(deployment, name)
    assert (found.status.lag, found.status.problems) == (1, ())
    assert [commit.rows for table in found.status.tables or () for commit in table.commits] == [5]
    assert found.held and found.events and found.lag_seconds is not None
    (problem,) = record(deployment, away).status.problems
    assert "no_such_connection" in problem
    log = run.log("collect")
    assert f"{away}: runs fail, no run has succeeded yet; the last one failed at " in log
    assert f"{name}: runs fail" not in log

    for one in (name, away):
        (deployment.connectors / f"{one}.json").unlink()
    collected(deployment)
    assert f"{PREFIX}{name} is removed" in "".join(run.log("collect") for run in all_runs(deployment))
    with pytest.raises(StackError, match="404"):
        record(deployment, name)
