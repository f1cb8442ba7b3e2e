"""A real Airflow whose connectors reach Kafka and the catalog by proxies, so that its processes can be killed in time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from stack.services.airflow import Airflow
from stack.services.broker import Broker
from stack.services.rest_catalog import RestCatalog
from stack.settings import REPOSITORY, free_port
from tests.faults.harness.ports import lasting_port
from tests.faults.harness.sink import Sink
from tests.faults.harness.zygote import Zygote
from tests.support.airflow import DagRun, Deployment
from tests.support.kafka.proxy import KafkaProxy, listeners
from tests.support.keys import KEY_TEXT
from tests.support.tables.catalog_proxy import CatalogProxy

A_DAY = 86_400_000


@dataclass
class Site:
    """Airflow, a broker and a REST catalog, each of the two behind a proxy."""

    folder: Path
    deployment: Deployment
    kafka_proxy: KafkaProxy
    catalog: RestCatalog
    catalog_proxy: CatalogProxy
    zygote: Zygote

    @classmethod
    def set_up(cls, folder: Path, zygote: Zygote) -> Site:
        """Start everything; what was started is ended again when it fails."""
        ports = [lasting_port() for _ in range(4)]
        broker = Broker(folder / "kafka", ports[0], ports[1], listeners(*ports))
        catalog = RestCatalog(folder, free_port())
        connectors = folder / "connectors"
        connectors.mkdir()
        proxied = {"bootstrap.servers": f"127.0.0.1:{ports[3]}"}
        environment = {
            "AIRFLOW_CONN_KAFKA_DEFAULT": json.dumps({"conn_type": "kafka", "extra": proxied}),
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
            "FLOE_CONNECTORS_DIR": str(connectors),
            "FLOE_SECRET_KEY": KEY_TEXT,
        }
        airflow = Airflow(folder / "airflow", free_port(), REPOSITORY / "dags", REPOSITORY / "plugins", environment)
        try:
            broker.start()
            catalog.start()
            airflow.start()
        except BaseException:
            airflow.stop()
            catalog.stop()
            broker.stop()
            raise
        deployment = Deployment(airflow, broker, connectors, 0)
        return cls(folder, deployment, KafkaProxy(ports[3], ports[2]), catalog, CatalogProxy(catalog.uri), zygote)

    def close(self) -> None:
        """End everything."""
        self.deployment.airflow.stop()
        self.catalog_proxy.close()
        self.kafka_proxy.close()
        self.catalog.stop()
        self.deployment.broker.stop()

    def sink(self, folder: Path, **more: Any) -> Sink:
        """Make a sink and write its connector file: its DAG runs once when it is let, then when it is triggered."""
        keys = {
            "iceberg.catalog.type": "rest",
            "iceberg.catalog.uri": self.catalog_proxy.uri,
            "iceberg.catalog.warehouse": self.catalog.warehouse,
            "iceberg.control.commit.interval-ms": A_DAY,
            **more,
        }
        table = f"db.{folder.name.replace('-', '_').lower()}"
        bootstrap = self.deployment.broker.bootstrap
        sink = Sink.make(self.zygote, bootstrap, folder, tables=[table], catalog_uri=self.catalog.uri, **keys)
        (self.deployment.connectors / f"{sink.name}.json").write_text(json.dumps(sink.keys))
        return sink

    def begin(self, sink: Sink) -> DagRun:
        """Let the sink's DAG run and return the run that the scheduler starts by itself, under way."""
        self.deployment.dag(sink.name)
        return DagRun(self.deployment, sink.name, self.deployment.airflow.rest.wait_for_scheduled_run(sink.name))

    def end(self, run: DagRun) -> str:
        """Wait for the end of a run and return its state."""
        return self.deployment.airflow.rest.wait_for_run(run.dag_id, run.run_id)

    def run_again(self, sink: Sink) -> DagRun:
        """Trigger a run and wait for its end."""
        rest = self.deployment.airflow.rest
        run_id = rest.trigger(sink.name)
        rest.wait_for_run(sink.name, run_id)
        return DagRun(self.deployment, sink.name, run_id)

    def plan_of(self, run: DagRun) -> dict[str, Any]:
        """Return the plan that a run froze."""
        path = f"/api/v2/dags/{run.dag_id}/dagRuns/{run.run_id}/taskInstances/plan/xcomEntries/return_value"
        value = self.deployment.airflow.rest.call("GET", f"{path}?deserialize=true")["value"]
        found: dict[str, Any] = value if isinstance(value, dict) else json.loads(value)
        return found


def owner_of(port: int) -> psutil.Process | None:
    """Return the process that a connection's local port belongs to."""
    for connection in psutil.net_connections("tcp"):
        if connection.laddr and connection.laddr.port == port and connection.pid not in (None, os.getpid()):
            return psutil.Process(connection.pid)
    return None


def kill_once(wanted: Callable[[psutil.Process], bool], killed: list[int]) -> Callable[[int], None]:
    """Return what kills the owner of a client's port, the first one that is wanted, and notes its pid."""

    def kill(port: int) -> None:
        process = owner_of(port)
        if process is not None and not killed and wanted(process):
            killed.append(process.pid)
            process.kill()

    return kill
