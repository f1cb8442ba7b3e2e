"""A scheduler that is killed is named wherever floe says how it is, on a real Airflow."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stack import processes
from stack.progress import wait_until
from stack.services.airflow import USER, Airflow
from stack.settings import REPOSITORY, free_port
from tests.support.connectors import JSON, connector_keys

NOTICED_WITHIN = 90.0
QUICK = {
    "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "6",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "2",
}


@pytest.fixture
def airflow(tmp_path: Path) -> Iterator[Airflow]:
    """An Airflow of the test's own with one connector, to be harmed."""
    connectors = tmp_path / "connectors"
    connectors.mkdir()
    (connectors / "one.json").write_text(json.dumps(connector_keys("one", "t", tmp_path, **JSON)))
    unreachable = {"conn_type": "kafka", "extra": {"bootstrap.servers": "127.0.0.1:1"}}
    environment = {
        "FLOE_CONNECTORS_DIR": str(connectors),
        "AIRFLOW_CONN_KAFKA_DEFAULT": json.dumps(unreachable),
        **QUICK,
    }
    one = Airflow(tmp_path / "airflow", free_port(), REPOSITORY / "dags", REPOSITORY / "plugins", environment)
    one.start()
    yield one
    one.stop()


def ask(airflow: Airflow, path: str) -> tuple[int, Any]:
    """Return status and body of an answer."""
    login = base64.b64encode(f"{USER}:{airflow.password()}".encode()).decode()
    request = urllib.request.Request(airflow.url + path, headers={"Authorization": f"Basic {login}"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def kill(airflow: Airflow, what: str) -> None:
    """Kill the processes of Airflow's whose command has these words."""
    assert airflow.process is not None
    family = {getattr(one, "pid", one) for one in processes.family(airflow.process)}
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    found = [
        int(line.split()[0]) for line in listed.splitlines()[1:] if what in line and int(line.split()[0]) in family
    ]
    assert found
    for pid in found:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.full
def test_killed_scheduler_is_named_by_health_states_page_and_stack(airflow: Airflow) -> None:
    airflow.rest.wait_for_dag("one")
    airflow.rest.unpause("one")
    assert wait_until(lambda: ask(airflow, "/connect/health")[0] == 200, NOTICED_WITHIN, pause=1.0)
    assert ask(airflow, "/connect/connectors/one/status")[1]["connector"]["state"] == "RUNNING"
    kill(airflow, "airflow scheduler")
    assert wait_until(lambda: ask(airflow, "/connect/health")[0] == 500, NOTICED_WITHIN, pause=1.0)
    assert "scheduler" in ask(airflow, "/connect/health")[1]["message"]
    connector = ask(airflow, "/connect/connectors/one/status")[1]["connector"]
    assert connector["state"] == "UNASSIGNED"
    assert "scheduler" in connector["trace"]
    assert "scheduler" in json.dumps(ask(airflow, "/floe/view/connectors")[1]["airflow"])
    assert any("scheduler" in part for part in airflow.dead_parts())
