"""The sink DAG over Spark Connect: the same rows, and sessions that heal by themselves."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from pyspark.sql.connect.session import SparkSession

from floe.operators.exceptions import JobFailed
from floe.operators.spark import code_archive
from floe.operators.spark.connect_session import open_session, session_id
from stack.services.spark_connect import ConnectServer
from stack.settings import free_port
from tests.support.airflow import Deployment, first_run


@pytest.fixture
def server(deployment: Deployment, tmp_path: Path) -> Iterator[ConnectServer]:
    one = ConnectServer(tmp_path, deployment.connect_port, warm=True)
    one.start()
    yield one
    one.stop()


def test_spark_connect_runs_share_session_and_survive_restart(
    deployment: Deployment, topic: Callable[..., str], tmp_path: Path, server: ConnectServer
) -> None:
    pizzas = deployment.add(topic(2), tmp_path, **{"floe.spark.conn-id": "spark_connect_default"})
    pizzas.produce({"id": i} for i in range(1000))
    deployment.dag(pizzas.connector.name)
    first = first_run(deployment, pizzas)
    assert first.state == "success", first.log("write")
    pizzas.produce({"id": i} for i in range(1000, 1500))
    assert deployment.run(pizzas).state == "success"

    server.stop()
    server.start()
    pizzas.produce({"id": i} for i in range(1500, 1600))
    healed = deployment.run(pizzas)
    assert healed.state == "success", healed.log("write")
    assert pizzas.column("id") == list(range(1600))
    assert len(pizzas.table().snapshots()) == 3

    end_session(server, generation=0)
    pizzas.produce({"id": i} for i in range(1600, 1700))
    healed = deployment.run(pizzas)
    assert healed.state == "success", healed.log("write")
    assert "is closed on the server, trying the next" in healed.log("write")
    assert pizzas.column("id") == list(range(1700))


def end_session(server: ConnectServer, generation: int) -> None:
    """Stop a session as anybody might who knows its id; under that id it stays dead."""
    with TemporaryDirectory() as folder:
        name = code_archive.archive(Path(folder)).name
    url = f"sc://127.0.0.1:{server.port}/;session_id={session_id(name, generation)}"
    SparkSession.builder.remote(url).create().stop()


@pytest.mark.full
def test_a_server_that_is_down_is_named_within_half_a_minute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nowhere = {"conn_type": "spark_connect", "host": "127.0.0.1", "port": free_port()}
    monkeypatch.setenv("AIRFLOW_CONN_NOWHERE", json.dumps(nowhere))
    began = time.monotonic()
    with pytest.warns(UserWarning, match="RETRIES_EXCEEDED"), pytest.raises(JobFailed, match="Is the server up"):
        open_session("nowhere", code_archive.archive(tmp_path))
    assert time.monotonic() - began < 30
