"""The local stack as `make up` leaves it, with a state folder and ports of its own, and what a walk looks up in it."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from stack.jars import CACHE
from stack.local import Local
from stack.progress import wait_until
from stack.services.airflow import USER
from stack.services.rest import FINAL
from stack.settings import Settings, free_port
from tests.support.repository import ROOT

PORTS = ("KAFKA_PORT", "KAFKA_CONTROLLER_PORT", "AIRFLOW_PORT", "SCHEMA_REGISTRY_PORT", "S3_PORT")
SINK = "org.apache.iceberg.connect.IcebergSinkConnector"
_RUN_WITHIN = 300
"""Seconds."""

LONG = 86_400_000
"""A commit interval, in milliseconds, in which no second run starts by itself."""


class Site:
    """A running stack; ``environment`` is what its commands need. Starts nothing by itself."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = dict(environment)
        self.local = Local(Settings.read(self.environment))
        self.rest = self.local.airflow.rest
        self.url = self.local.airflow.url

    @property
    def login(self) -> tuple[str, str]:
        """Name and password, as `make up` prints them."""
        return USER, self.local.airflow.password()

    def produce(self, topic: str, values: Iterable[object], partition: int = 0) -> None:
        """Send values as JSON, or bytes as they are; makes the topic, of one partition, if there is none."""
        admin = AdminClient({"bootstrap.servers": self.local.settings.bootstrap})
        if topic not in admin.list_topics(timeout=30).topics:
            admin.create_topics([NewTopic(topic, num_partitions=1)])[topic].result(30)
        producer = Producer({"bootstrap.servers": self.local.settings.bootstrap})
        for value in values:
            sent = value if isinstance(value, bytes) else json.dumps(value).encode()
            producer.produce(topic, sent, partition=partition)
        assert producer.flush(30) == 0

    @contextmanager
    def catalog(self) -> Iterator[SqlCatalog]:
        """The demo's catalog."""
        catalog = SqlCatalog("demo", **self.local.catalog)
        try:
            yield catalog
        finally:
            catalog.close()

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a table."""
        with self.catalog() as catalog:
            found: list[dict[str, Any]] = catalog.load_table(name).scan().to_arrow().to_pylist()
        return found

    def table(self, name: str) -> Table:
        """Return a table as it is now."""
        with self.catalog() as catalog:
            return catalog.load_table(name)

    def connect(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Call Kafka Connect's REST API with name and password, as curl does."""
        login = base64.b64encode(":".join(self.login).encode()).decode()
        headers = {"Authorization": f"Basic {login}", "Content-Type": "application/json"}
        sent = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/connect{path}", sent, headers, method=method)  # noqa: S310
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        return status, json.loads(text) if text else None

    def put_connector(self, name: str, **keys: Any) -> int:
        """Make a connector by REST, with topic and table of its name; returns the status. ``keys`` take ``_`` for ``.``."""
        config = {
            "connector.class": SINK,
            "topics": name,
            "iceberg.tables": f"shop.{name.replace('-', '_')}",
            "iceberg.tables.auto-create-enabled": "true",
            "iceberg.catalog": "demo",
            "iceberg.catalog.type": "sql",
            "iceberg.control.commit.interval-ms": LONG,
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            **{key.replace("_", "."): value for key, value in keys.items()},
        }
        return self.connect("PUT", f"/connectors/{name}/config", config)[0]

    @contextmanager
    def runs_anew(self, dag: str, wanted: str = "success", count: int = 1) -> Iterator[list[dict[str, Any]]]:
        """Wait at the end until ``count`` new runs of a DAG have ended, the newest in the wanted state; it is in the list."""
        known = {run["dag_run_id"] for run in self.rest.runs(dag)}
        found: list[dict[str, Any]] = []
        yield found

        def has_ended() -> bool:
            found[:] = [run for run in self.rest.runs(dag) if run["dag_run_id"] not in known]
            return len(found) >= count and all(run["state"] in FINAL for run in found)

        assert wait_until(has_ended, _RUN_WITHIN, pause=0.5), found
        assert found[0]["state"] == wanted, self.rest.task_instances(dag, found[0]["dag_run_id"])


@contextmanager
def started(folder: Path) -> Iterator[Site]:
    """Run the stack in a folder, and stop it whatever happens."""
    environment = {
        "FLOE_STATE": str(folder),
        "FLOE_JARS": str(CACHE),
        **{name: str(free_port()) for name in PORTS},
    }
    try:
        _stack("up", environment)
        yield Site(environment)
    finally:
        _stack("down", environment)


def _stack(command: str, environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "stack", command],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
