"""The sink DAG over Spark Connect: the same rows, and sessions that heal by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sink_dag import Deployment, first_run
from spark_connect import ConnectServer

pytestmark = pytest.mark.airflow


@pytest.fixture
def server(deployment: Deployment, tmp_path: Path) -> Iterator[ConnectServer]:
    one = ConnectServer(tmp_path, deployment.connect_port)
    one.start()
    yield one
    one.stop()


def test_runs_over_spark_connect_use_one_session_and_heal_when_the_server_was_restarted(
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
