"""Connect's own clients on floe: what they return is what they return of a Connect worker.

One of them makes a connector with the keys of the integration tests of Apache's own sink, and Airflow runs it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from kafka_connect import KafkaConnect
from kafka_connect_api.errors import GenericNotFound
from kafka_connect_api.kafka_connect_api import Api, Cluster
from pyiceberg.catalog.rest import RestCatalog as Client
from pyiceberg.types import LongType, StringType, TimestamptzType
from requests import HTTPError

from stack.progress import wait_until
from stack.services.airflow import USER
from stack.services.rest_catalog import RestCatalog
from tests.support.airflow import DagRun, Deployment
from tests.support.runs.sink_suite import PARTITIONS, Event, assert_sinks_summary, connector_config, new_files, send

SECRET_KEY = "iceberg.catalog.s3.secret-access-key"
DAY = 86_400_000


@pytest.fixture
def base(deployment: Deployment) -> str:
    """The address that a client is given."""
    return f"http://127.0.0.1:{deployment.airflow.port}/connect"


@pytest.fixture
def kafka_connect_py(deployment: Deployment, base: str) -> KafkaConnect:
    return KafkaConnect(base, f"{USER}:{deployment.airflow.password()}")


@pytest.fixture
def kafka_connect_api(deployment: Deployment, base: str) -> Cluster:
    return Cluster(Api(url=base, username=USER, password=deployment.airflow.password()))


@pytest.fixture
def name(kafka_connect_py: KafkaConnect) -> Iterator[str]:
    """The name of a connector, which is removed if the test leaves it."""
    one = f"test_connector-{uuid.uuid4()}"
    yield one
    if one in kafka_connect_py.list_connectors():
        kafka_connect_py.stop_connector(one)
        kafka_connect_py.delete_connector(one)


@pytest.fixture
def config(rest_catalog: RestCatalog, topic: Callable[..., str]) -> dict[str, Any]:
    table = f"test.t{uuid.uuid4().hex[:8]}"
    return {
        **connector_config(topic(PARTITIONS), rest_catalog.uri, has_schema=True),
        "iceberg.control.commit.interval-ms": DAY,
        "iceberg.tables": table,
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.tables.default-partition-by": "hour(ts)",
    }


def as_text(config: dict[str, Any]) -> dict[str, str]:
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in config.items()}


def test_kafka_connect_py_makes_a_connector_that_airflow_runs(
    deployment: Deployment, kafka_connect_py: KafkaConnect, name: str, config: dict[str, Any], rest_catalog: RestCatalog
) -> None:
    client, rest, source, table = kafka_connect_py, deployment.airflow.rest, config["topics"], config["iceberg.tables"]
    now = datetime.now(UTC)
    events = [Event(1, "type1", now, "hello world!"), Event(2, "type2", now - timedelta(days=3), "having fun?")]
    send(deployment.broker.bootstrap, source, *events, has_schema=True)
    assert client.get_cluster_info()["version"]
    reference = f"${{floe:{name}:{SECRET_KEY}}}"
    shown = {
        **as_text(config),
        "name": name,
        **{key: f"${{floe:{name}:{key}}}" for key in (SECRET_KEY, "iceberg.catalog.s3.access-key-id")},
    }
    made = client.create_connector({"name": name, "config": config, "initial_state": "PAUSED"})
    assert (made["name"], made["type"], made["config"][SECRET_KEY]) == (name, "sink", reference)
    assert {key: made["config"][key] for key in config if not key.startswith("iceberg.catalog.s3.")} == {
        key: shown[key] for key in config if not key.startswith("iceberg.catalog.s3.")
    }
    assert name in client.list_connectors()
    rest.wait_for_dag(name)
    assert client.get_connector_status(name)["connector"]["state"] == "PAUSED"
    updated = client.update_connector(name, {**made["config"], "tasks.max": "3"})
    assert (updated["config"]["tasks.max"], len(updated["tasks"])) == ("3", 3)
    assert client.get_connector_config(name) == updated["config"]
    assert client.get_connector(name)["config"] == updated["config"]

    assert client.resume_connector(name) is None
    run_id = rest.wait_for_scheduled_run(name)
    assert rest.wait_for_run(name, run_id) == "success", DagRun(deployment, name, run_id).log("plan")
    status = client.get_connector_status(name)
    assert [status["connector"]["state"], *(task["state"] for task in status["tasks"])] == ["RUNNING"] * 4
    assert client.get_connector_task_status(name, 0)["state"] == "RUNNING"
    assert client.list_connectors(expand="status", pattern=name)[name]["status"] == status
    assert client.list_connectors(pattern=name, state="RUNNING") == [name]
    assert client.restart_connector(name) is None
    restarted = client.restart_connector(name, include_tasks=True, only_failed=True)
    assert (restarted["name"], restarted["connector"]["state"]) == (name, "RUNNING")
    assert client.restart_connector_task(name, 0) is None

    catalog = Client("local", uri=rest_catalog.uri)
    written = catalog.load_table(table)
    assert len(written.snapshots()) == 1
    assert sum(file.record_count for file in new_files(written, None)) == 2
    assert_sinks_summary(written, None)
    types = {field.name: type(field.field_type) for field in written.schema().fields}
    assert types == {"id": LongType, "type": StringType, "ts": TimestamptzType, "payload": StringType, "op": StringType}
    assert not written.spec().is_unpartitioned()
    catalog.drop_table(table)
    catalog.close()

    assert client.pause_connector(name) is None
    assert client.get_connector_status(name)["connector"]["state"] == "PAUSED"
    assert client.stop_connector(name) is None
    stopped = client.get_connector_status(name)
    assert (stopped["connector"]["state"], stopped["tasks"]) == ("STOPPED", [])
    client.delete_connector(name)
    assert name not in client.list_connectors()
    with pytest.raises(HTTPError, match="404"):
        client.get_connector(name)


def test_kafka_connect_py_is_told_what_is_wrong(
    kafka_connect_py: KafkaConnect, name: str, config: dict[str, Any]
) -> None:
    wrong = {**config, "tasks.max": "many"}
    with pytest.raises(HTTPError, match="400"):
        kafka_connect_py.create_connector({"name": name, "config": wrong})
    assert name not in kafka_connect_py.list_connectors()
    with pytest.raises(HTTPError, match="404"):
        kafka_connect_py.pause_connector(name)


def test_kafka_connect_api_changes_a_connector(
    deployment: Deployment, kafka_connect_api: Cluster, name: str, config: dict[str, Any]
) -> None:
    cluster = kafka_connect_api
    assert cluster.version
    made = cluster.api.post("/connectors", json={"name": name, "config": config, "initial_state": "PAUSED"})
    assert made["name"] == name
    deployment.airflow.rest.wait_for_dag(name)
    connector = cluster.connectors[name]
    assert connector.exists()
    assert (connector.state, connector.connector_class) == ("PAUSED", config["connector.class"])
    connector.config = {**connector.config, "tasks.max": "1"}
    assert (connector.config["tasks.max"], len(connector.tasks)) == ("1", 1)
    assert connector.tasks[0].state == "PAUSED"
    connector.restart()
    connector.restart_all_tasks()
    connector.pause()
    assert connector.state == "PAUSED"
    cluster.api.put_raw(f"/connectors/{name}/stop")
    assert (connector.state, connector.status["tasks"]) == ("STOPPED", [])
    connector.delete()
    assert wait_until(lambda: name not in cluster.connectors, 10)
    with pytest.raises(GenericNotFound):
        connector.status  # noqa: B018 - asks the server
