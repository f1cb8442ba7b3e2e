"""A connector whose file breaks while it runs: red with the errors, on time, and alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stack.progress import wait_until
from tests.support.airflow import DagRun, Deployment
from tests.support.runs.pipeline import Pipeline

EVERY_SECONDS = 4
WITHIN = 90.0


@pytest.fixture
def file(deployment: Deployment, running: Pipeline) -> Iterator[Path]:
    """The running connector's file; its DAG is paused in the end."""
    yield deployment.connectors / f"{running.connector.name}.json"
    deployment.airflow.rest.pause(running.connector.name)


@pytest.fixture
def running(deployment: Deployment, topic: Callable[..., str], tmp_path: Path) -> Pipeline:
    """A connector that runs every few seconds, with nothing to read."""
    one = deployment.add(topic(1), tmp_path, **{"iceberg.control.commit.interval-ms": EVERY_SECONDS * 1000})
    deployment.dag(one.connector.name)
    wait_for_run(deployment, one.connector.name, "success")
    return one


def wait_for_run(deployment: Deployment, name: str, state: str, seen: frozenset[str] = frozenset()) -> DagRun:
    """Wait for a scheduled run in a state that is not among those seen before."""
    rest, found = deployment.airflow.rest, ""

    def has_run() -> bool:
        nonlocal found
        runs = [run for run in rest.runs(name) if run["run_type"] == "scheduled" and run["state"] == state]
        found = next((run["dag_run_id"] for run in runs if run["dag_run_id"] not in seen), "")
        return bool(found)

    assert wait_until(has_run, WITHIN), f"no run of {name} became {state}"
    return DagRun(deployment, name, found)


def import_errors(deployment: Deployment) -> str:
    errors = deployment.airflow.rest.call("GET", "/api/v2/importErrors")["import_errors"]
    assert {Path(error["filename"]).name for error in errors} <= {"broken_connectors.py"}
    return "".join(error["stack_trace"] for error in errors)


def dag(deployment: Deployment, name: str) -> dict[str, Any]:
    return deployment.airflow.rest.call("GET", f"/api/v2/dags/{name}/details")


def tags(deployment: Deployment, name: str) -> set[str]:
    return {tag["name"] for tag in dag(deployment, name)["tags"]}


def runs_of(deployment: Deployment, name: str) -> frozenset[str]:
    return frozenset(run["dag_run_id"] for run in deployment.airflow.rest.runs(name))


def test_a_connector_whose_file_breaks_is_red_until_repaired(
    deployment: Deployment, running: Pipeline, file: Path, topic: Callable[..., str], tmp_path: Path
) -> None:
    name, good = running.connector.name, file.read_text()
    other = deployment.add(topic(1), tmp_path).connector.name
    deployment.airflow.rest.wait_for_dag(other)

    file.write_text('{"floe.x": 1, ' + good.removeprefix("{").replace(f'"name": "{name}"', '"name": "no dag id"'))
    red = wait_for_run(deployment, name, "failed")
    assert red.tasks == {"plan": "failed", "write": "upstream_failed", "commit": "upstream_failed"}
    log = red.log("plan")
    assert "unknown key 'floe.x'; there is no such key" in log
    assert wait_until(lambda: f"{file} (DAG {name})" in import_errors(deployment), WITHIN)
    assert "unknown key 'floe.x'" in import_errors(deployment)

    # the worker reads the file before each task, Airflow writes down the DAG some seconds later
    assert wait_until(lambda: tags(deployment, name) == {"floe", "broken"}, WITHIN)
    broken = dag(deployment, name)
    assert (broken["is_stale"], broken["is_paused"], broken["owners"]) == (False, False, ["floe"])
    assert not dag(deployment, other)["is_stale"] and tags(deployment, other) == {"floe", "sink"}
    rest = deployment.airflow.rest
    assert not dag(deployment, f"{name}.replay")["is_stale"]
    rest.wait_for_run(f"{name}.replay", run := rest.trigger(f"{name}.replay", {}))
    assert "unknown key 'floe.x'" in DagRun(deployment, f"{name}.replay", run).log("plan")

    running.produce([{"id": 1}])
    file.write_text(good)
    wait_for_run(deployment, name, "success", runs_of(deployment, name))
    assert wait_until(lambda: running.table().scan().count() == 1, WITHIN)
    assert wait_until(lambda: str(file) not in import_errors(deployment), WITHIN)


def test_never_valid_file_is_paused_and_an_import_error(deployment: Deployment) -> None:
    file = deployment.connectors / "never-good.json"
    file.write_text('{"topics": "t",')
    try:
        deployment.airflow.rest.wait_for_dag("never-good")
        found = dag(deployment, "never-good")
        assert (found["is_paused"], found["timetable_summary"]) == (True, "0:05:00")
        assert wait_until(lambda: f"{file} (DAG never-good)" in import_errors(deployment), WITHIN)
    finally:
        file.unlink()
    assert found["owners"] == ["floe"]
