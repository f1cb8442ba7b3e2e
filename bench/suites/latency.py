"""From a trigger in Airflow to the snapshot: a real scheduler, a real catalog, records that were just produced."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from bench.measurement import Measurement
from bench.records import PIZZA
from bench.scenario import Scenario
from bench.site import Site
from bench.size import Size
from bench.systems.floe import Floe
from bench.topics import append, create
from stack.progress import step, wait_until
from stack.services.airflow import Airflow
from stack.settings import REPOSITORY, free_port

RECORDS = 10_000
APART = 65.0
"""Seconds between two triggers of a warm connector: Spark ends idle Python workers after 60."""


def measure(site: Site, size: Size) -> Iterator[Measurement]:
    """Trigger a warm connector every 65 s, a cold one whenever it has ended, and one that finds nothing new."""
    warm, cold, idle = size.of((5, 4, 5), (2, 1, 2), (1, 0, 1))
    apart = size.of(APART, 15.0, 0.0)
    floe = Floe(site, is_warm=True)
    with ExitStack() as stack:
        with step("a Spark Connect server"):
            stack.enter_context(floe.warm())
        connections: dict[str, dict[str, Any]] = {
            "KAFKA_DEFAULT": {"conn_type": "kafka", "extra": {"bootstrap.servers": site.bootstrap}},
            "WARM": {"conn_type": "spark_connect", "host": "127.0.0.1", "port": floe.server.port},
            "COLD": {"conn_type": "spark", "host": "local[2]"},
        }
        folder = site.folder / "connectors"
        folder.mkdir()
        ways = {name: _Connector.create(site, name, folder) for name in (("warm", "cold") if cold else ("warm",))}
        airflow = _airflow(site, folder, connections)
        stack.callback(airflow.stop)
        with step("Airflow"):
            airflow.start()
        for one in ways.values():
            airflow.rest.wait_for_dag(one.name)
            airflow.rest.unpause(one.name)
            with step(f"{one.name}: first run"):
                one.run(airflow, 0)
        for number in range(cold):
            with step(f"cold, trigger {number + 1}"):
                yield ways["cold"].run(airflow, number)
        for number in range(idle):
            with step(f"nothing new, trigger {number + 1}"):
                yield ways["warm"].idle(airflow, number)
        for number in range(warm):
            with step(f"warm, trigger {number + 1}, after {apart:.0f} s"):
                time.sleep(apart)
                yield ways["warm"].run(airflow, number)


def _airflow(site: Site, connectors: Path, connections: dict[str, dict[str, Any]]) -> Airflow:
    environment = {f"AIRFLOW_CONN_{name}": json.dumps(fields) for name, fields in connections.items()}
    environment["FLOE_CONNECTORS_DIR"] = str(connectors)
    return Airflow(
        site.folder / "airflow", free_port(), REPOSITORY / "dags", REPOSITORY / "plugins", environment
    )  # fmt: skip


class _Connector:
    """One connector on a topic of its own, which runs only when it is triggered."""

    def __init__(self, site: Site, name: str, way: str, tables: Sequence[str]) -> None:
        self.name = name
        self._way = way
        self._site = site
        self._sent = 0
        self._visible = site.visible
        self._tables = tables

    @classmethod
    def create(cls, site: Site, way: str, folder: Path) -> _Connector:
        """Create its tables and topics, and its file in ``folder``."""
        name = f"latency-{way}"
        scenario = Scenario(name, PIZZA, name, RECORDS)
        tables = scenario.create(site.catalog(), name.replace("-", "_"))
        namespace = tables[0].split(".")[0]
        create(site.bootstrap, name)
        create(site.bootstrap, f"control-{namespace}", 1)
        keys = {
            "name": name,
            **scenario.keys(namespace),
            **site.catalog_keys,
            "iceberg.control.commit.interval-ms": 86_400_000,
            "floe.spark.conn-id": way,
        }
        (folder / f"{name}.json").write_text(json.dumps(keys))
        return cls(site, name, way, tables)

    def run(self, airflow: Airflow, number: int) -> Measurement:
        """Send records, trigger, and wait for the snapshot that has them."""
        append(self._site.bootstrap, self.name, PIZZA, self._sent, RECORDS)
        self._sent += RECORDS
        began = time.perf_counter()
        run_id = airflow.rest.trigger(self.name)
        if not wait_until(lambda: self._visible.rows(self._tables) >= self._sent, 180, pause=0.05):
            msg = f"run {run_id} of {self.name} brought no snapshot: see {airflow.folder / 'logs'}"
            raise RuntimeError(msg)
        seconds = time.perf_counter() - began
        airflow.rest.wait_for_run(self.name, run_id)
        return self._measurement(airflow, run_id, f"10 k records, {self._way}", number, seconds, RECORDS)

    def idle(self, airflow: Airflow, number: int) -> Measurement:
        """Trigger a run that finds nothing new, and check that no JVM is started."""
        before = _javas(airflow)
        run_id = airflow.rest.trigger(self.name)
        seen: set[int] = set()
        began = time.perf_counter()
        while airflow.rest.run(self.name, run_id)["state"] not in ("success", "failed"):
            seen |= _javas(airflow)
            if time.perf_counter() - began > 60:
                msg = f"run {run_id} of {self.name} does not end"
                raise RuntimeError(msg)
            time.sleep(0.05)
        if seen - before:
            msg = f"a run with nothing new started {len(seen - before)} JVM(s)"
            raise RuntimeError(msg)
        run = airflow.rest.run(self.name, run_id)
        return self._measurement(airflow, run_id, "nothing new", number, _between(run, "queued_at", "end_date"), 0)

    def _measurement(
        self, airflow: Airflow, run_id: str, scenario: str, number: int, seconds: float, records: int
    ) -> Measurement:
        tasks = airflow.rest.task_instances(self.name, run_id)
        more: dict[str, Any] = {f"{one['task_id']}_seconds": one["duration"] for one in tasks if one["duration"]}
        more["whole_run_seconds"] = _between(airflow.rest.run(self.name, run_id), "queued_at", "end_date")
        return Measurement(scenario, "floe in Airflow", number, records, seconds, 0.0, more=more)


def _javas(airflow: Airflow) -> set[int]:
    """Return the JVMs that Airflow's processes started: others on this machine are not its own."""
    assert airflow.process is not None
    started = psutil.Process(airflow.process.pid).children(recursive=True)
    found = set()
    for one in started:
        with suppress(psutil.NoSuchProcess):
            if one.name() == "java":
                found.add(one.pid)
    return found


def _between(run: dict[str, Any], first: str, last: str) -> float:
    return (datetime.fromisoformat(run[last]) - datetime.fromisoformat(run[first])).total_seconds()
