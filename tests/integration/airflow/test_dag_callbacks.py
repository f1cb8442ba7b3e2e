"""Callbacks that connectors name, in a real Airflow: called once for a failed run, and once for a table that is late."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stack.progress import wait_until
from stack.services.rest import FINAL
from tests.support.airflow import ALERTS, DagRun, Deployment

ON_FAILURE, MAX_AGE = "floe.dag.on-failure-callback", "floe.freshness.max-ms"
STATUS = "floe.status"
WITHIN = 120.0


def calls(deployment: Deployment, name: str) -> list[dict[str, Any]]:
    """Return what the callback was called with that concerns a connector."""
    file = deployment.alerts / "calls.jsonl"
    made = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return [one for one in made if name in (one["dag"], one["reason"].partition(":")[0])]


def import_errors(deployment: Deployment) -> str:
    errors = deployment.airflow.rest.call("GET", "/api/v2/importErrors")["import_errors"]
    return "".join(error["stack_trace"] for error in errors)


def test_failed_run_calls_the_connectors_callback_once(
    deployment: Deployment, topic: Callable[..., str], tmp_path: Path
) -> None:
    keys = {ON_FAILURE: f"python:{ALERTS}.note", "floe.kafka.conn-id": "no_such_connection", "floe.dag.retries": 0}
    name = deployment.add(topic(1), tmp_path, **keys).connector.name
    refused = deployment.add(topic(1), tmp_path / "other", **{ON_FAILURE: "python:os.system"}).connector.name
    deployment.dag(name)
    rest = deployment.airflow.rest
    runs = [rest.wait_for_scheduled_run(name), rest.trigger(name)]
    assert [rest.wait_for_run(name, run_id) for run_id in runs] == ["failed", "failed"]
    assert wait_until(lambda: len(calls(deployment, name)) == len(runs), WITHIN)
    by_run = {call["run_id"]: call for call in calls(deployment, name)}
    assert by_run.keys() == set(runs)
    call = by_run[runs[-1]]
    assert (call["dag"], call["task"], call["reason"]) == (name, "plan", "task_failure")
    assert (
        "the Airflow connection 'no_such_connection', which floe.kafka.conn-id names, does not exist" in call["error"]
    )

    rest.wait_for_dag(refused)
    why = f"the module 'os' is not allowed here, FLOE_CALLBACK_MODULES lists {ALERTS}"
    assert wait_until(lambda: why in import_errors(deployment), WITHIN)
    (deployment.connectors / f"{refused}.json").unlink()


def test_late_table_calls_the_callback_and_fails_one_run(
    deployment: Deployment, topic: Callable[..., str], tmp_path: Path
) -> None:
    keys = {ON_FAILURE: f"python:{ALERTS}.note", MAX_AGE: 1000, "floe.schedule": "manual"}
    pizzas = deployment.add(topic(1), tmp_path, **keys)
    name, rest = pizzas.connector.name, deployment.airflow.rest
    pizzas.produce([{"id": 1}])
    pizzas.run()
    pizzas.produce([{"id": 2}])
    deployment.dag(name)
    rest.unpause(STATUS)

    def logs_with(text: str) -> list[str]:
        """Collect once more, and return the logs with a text of all runs: scheduled ones are among them."""
        rest.wait_for_run(STATUS, rest.trigger(STATUS))
        runs = [DagRun(deployment, STATUS, run["dag_run_id"]) for run in rest.runs(STATUS) if run["state"] in FINAL]
        return [log for run in runs if text in (log := run.log("collect"))]

    try:
        assert wait_until(lambda: bool(logs_with(f"{name}: late by")), WITHIN)
        assert wait_until(lambda: bool(calls(deployment, name)), WITHIN)
        pizzas.run()
        assert wait_until(lambda: bool(logs_with(f"{name}: no longer late: db.t")), WITHIN)
        assert [len(logs_with(f"{name}: {text}")) for text in ("late by", "no longer late: db.t")] == [1, 1]
    finally:
        rest.pause(STATUS)
        # its table is late as soon as one look takes too long: runs of floe.status in other tests would fail
        (deployment.connectors / f"{name}.json").unlink()
    (call,) = calls(deployment, name)
    failed = DagRun(deployment, STATUS, call["run_id"])
    assert (failed.state, call["dag"], call["task"]) == ("failed", STATUS, "collect")
    assert f"{name}: late by {MAX_AGE} (1,000 ms): db.t. All records are there up to " in call["reason"]
    assert call["error"] == call["reason"] and call["reason"] in failed.log("collect")
