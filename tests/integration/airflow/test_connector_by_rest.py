"""A connector made by REST in a real Airflow: a DAG within seconds, a run that writes a table, and away again."""

from __future__ import annotations

import base64
import http.client
import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka import Producer
from pyiceberg.catalog.sql import SqlCatalog

from stack.progress import wait_until
from stack.services.airflow import USER
from tests.support.airflow import REST_LAKE, DagRun, Deployment, rest_lake

pytestmark = pytest.mark.full

MAX_SECONDS = 15.0
"""From the call that makes a connector to its DAG."""

SECRET = f"canary-{uuid.uuid4().hex}"
SECRET_KEY = "consumer.override.sasl.password"


@dataclass
class Api:
    """Connect's API of a deployment, called with name and password as tools do."""

    deployment: Deployment

    def __call__(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        airflow = self.deployment.airflow
        login = base64.b64encode(f"{USER}:{airflow.password()}".encode()).decode()
        headers = {"Authorization": f"Basic {login}", "Content-Type": "application/json"}
        connection = http.client.HTTPConnection("127.0.0.1", airflow.port, timeout=60)
        try:
            connection.request(method, f"/connect{path}", None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
            return answer.status, json.loads(text) if text else None
        finally:
            connection.close()


def produce(deployment: Deployment, topic: str, *numbers: int) -> None:
    producer = Producer({"bootstrap.servers": deployment.broker.bootstrap})
    for number in numbers:
        producer.produce(topic, json.dumps({"id": number}).encode())
    producer.flush()


def is_gone(deployment: Deployment, name: str) -> bool:
    found = deployment.airflow.rest.call("GET", f"/api/v2/dags?dag_id_pattern={name}&exclude_stale=true")["dags"]
    return all(dag["dag_id"] != name for dag in found)


def connector_config(name: str, source: str, table: str) -> dict[str, str]:
    return {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "topics": source,
        "iceberg.tables": table,
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.tables.evolve-schema-enabled": "true",
        "iceberg.catalog.type": "sql",
        "floe.catalog.conn-id": REST_LAKE,
        "iceberg.control.topic": f"control-{name}",
        "iceberg.control.commit.interval-ms": "86400000",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }


@dataclass
class Active:
    """A connector made by REST, a run of which is active: what it reads is planned."""

    deployment: Deployment
    name: str
    table: str
    run_id: str

    @property
    def is_paused(self) -> bool:
        return bool(self.deployment.airflow.rest.call("GET", f"/api/v2/dags/{self.name}")["is_paused"])

    def numbers(self) -> list[int]:
        catalog = SqlCatalog("iceberg", **rest_lake(self.deployment.connectors.parent))
        try:
            found = catalog.load_table(self.table).scan().to_arrow()
            return [int(number) for number in found.sort_by("id")["id"].to_pylist()]
        finally:
            catalog.close()


@pytest.fixture
def active(deployment: Deployment, topic: Callable[..., str]) -> Active:
    source, name = topic(1), f"by-rest-{uuid.uuid4().hex[:8]}"
    table, rest = f"db.t{uuid.uuid4().hex[:8]}", deployment.airflow.rest
    produce(deployment, source, 1, 2, 3)
    assert Api(deployment)("PUT", f"/connectors/{name}/config", connector_config(name, source, table))[0] == 201
    rest.wait_for_dag(name, MAX_SECONDS)
    run_id = rest.wait_for_scheduled_run(name)

    def has_plan() -> bool:
        return any(t["task_id"] == "plan" and t["state"] == "success" for t in rest.task_instances(name, run_id))

    assert wait_until(has_plan, 180)
    return Active(deployment, name, table, run_id)


@pytest.mark.parametrize(("call", "state"), [("pause", "PAUSED"), ("stop", "STOPPED")])
def test_run_that_is_active_when_its_connector_is_paused_ends(active: Active, call: str, state: str) -> None:
    api, rest, name = Api(active.deployment), active.deployment.airflow.rest, active.name
    assert api("PUT", f"/connectors/{name}/{call}")[0] in (202, 204)
    assert api("GET", f"/connectors/{name}/status")[1]["connector"]["state"] == state
    assert rest.wait_for_run(name, active.run_id) == "success"
    assert (active.is_paused, active.numbers()) == (True, [1, 2, 3])
    assert api("GET", f"/connectors/{name}/status")[1]["connector"]["state"] == state
    assert api("DELETE", f"/connectors/{name}")[0] == 204
    assert api("GET", f"/connectors/{name}")[0] == 404


def test_connector_that_is_deleted_goes_when_its_run_has_ended(active: Active) -> None:
    api, rest, name = Api(active.deployment), active.deployment.airflow.rest, active.name
    rest.pause(name)  # by Airflow, which schedules nothing of a paused DAG
    assert api("DELETE", f"/connectors/{name}")[0] == 204
    assert api("GET", f"/connectors/{name}")[0] == 404
    status, answer = api("PUT", f"/connectors/{name}/config", {"topics": "x"})
    assert (status, active.run_id in answer["message"]) == (409, True)
    assert rest.wait_for_run(name, active.run_id) == "success"
    assert active.numbers() == [1, 2, 3]
    assert wait_until(lambda: is_gone(active.deployment, name), 60)


def test_connector_that_is_stopped_before_airflow_reads_it_reads_nothing(
    deployment: Deployment, topic: Callable[..., str]
) -> None:
    api, rest, name, source = Api(deployment), deployment.airflow.rest, f"by-rest-{uuid.uuid4().hex[:8]}", topic(1)
    produce(deployment, source, 1)
    assert api("PUT", f"/connectors/{name}/config", connector_config(name, source, f"db.{name[-8:]}"))[0] == 201
    assert api("PUT", f"/connectors/{name}/stop")[0] == 204
    assert api("GET", f"/connectors/{name}/status")[1]["connector"]["state"] == "STOPPED"
    rest.wait_for_dag(name, MAX_SECONDS)

    def is_paused() -> bool:
        return bool(rest.call("GET", f"/api/v2/dags/{name}")["is_paused"])

    # the API is not asked: the scheduler itself pauses the DAG when its first run ends
    assert wait_until(is_paused, 60)
    for run in rest.call("GET", f"/api/v2/dags/{name}/dagRuns")["dag_runs"]:
        assert "this run reads nothing" in DagRun(deployment, name, run["dag_run_id"]).log("plan")
    assert api("GET", f"/connectors/{name}/status")[1]["connector"]["state"] == "STOPPED"
    assert api("DELETE", f"/connectors/{name}")[0] == 204


def test_connector_made_by_rest_runs_and_goes(deployment: Deployment, topic: Callable[..., str]) -> None:
    source = topic(1)
    produce(deployment, source, 1, 2, 3)
    api, rest, name = Api(deployment), deployment.airflow.rest, f"by-rest-{uuid.uuid4().hex[:8]}"
    table = f"db.t{uuid.uuid4().hex[:8]}"
    config = {**connector_config(name, source, table), "tasks.max": "2", SECRET_KEY: SECRET}
    began = time.monotonic()
    status, info = api("PUT", f"/connectors/{name}/config", config)
    assert (status, info["config"][SECRET_KEY]) == (201, f"${{floe:{name}:{SECRET_KEY}}}")
    rest.wait_for_dag(name, MAX_SECONDS)
    took = time.monotonic() - began
    print(f"from the call to the DAG: {took:.1f} s")
    assert took <= MAX_SECONDS
    run_id = rest.wait_for_scheduled_run(name)
    rest.wait_for_run(name, run_id)
    run = DagRun(deployment, name, run_id)
    assert run.state == "success", run.log("plan")
    assert all(SECRET not in run.log(task) for task in ("plan", "write", "commit"))
    catalog = SqlCatalog("iceberg", **rest_lake(deployment.connectors.parent))
    assert catalog.load_table(table).scan().to_arrow().sort_by("id")["id"].to_pylist() == [1, 2, 3]
    catalog.close()
    status, state = api("GET", f"/connectors/{name}/status")
    assert [state["connector"]["state"], *(task["state"] for task in state["tasks"])] == ["RUNNING"] * 3
    assert api("PATCH", f"/connectors/{name}/config", {"topics": f"{source},missing-{name}"})[0] == 200
    failed = rest.trigger(name)
    rest.wait_for_run(name, failed)
    task = api("GET", f"/connectors/{name}/tasks/0/status")[1]
    assert (task["state"], f"missing-{name}" in task["trace"]) == ("FAILED", True)
    assert api("PUT", f"/connectors/{name}/config", info["config"])[0] == 200
    assert api("POST", f"/connectors/{name}/restart?includeTasks=true&onlyFailed=true")[0] == 202
    assert rest.wait_for_run(name, failed) == "success"
    assert api("PUT", f"/connectors/{name}/stop")[0] == 204
    assert api("GET", f"/connectors/{name}/status")[1]["connector"]["state"] == "STOPPED"
    assert api("DELETE", f"/connectors/{name}")[0] == 204
    assert api("GET", f"/connectors/{name}")[0] == 404
    assert wait_until(lambda: is_gone(deployment, name), 60)
