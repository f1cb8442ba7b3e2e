"""The Iceberg Kafka Connect sink 1.12.0 on a standalone Connect worker.

Two tasks, two partitions, 2 GB of heap, a commit every five seconds: with longer intervals the last row waits for the
commit, with shorter ones its files become small. Its consumers have Kafka's own settings; with larger fetches and 10,000
records a poll it took as long, and more processor time.
"""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from bench.measurement import Measurement
from bench.scenario import Scenario
from bench.site import Site
from bench.topics import create
from bench.usage import Meter
from stack import processes
from stack.services.kafka_connect import SINK, worker_command, worker_settings, write_properties
from stack.settings import free_port

COMMIT_INTERVAL_MS = 5_000
TIMEOUT_S = 900.0
STATUS_EVERY_S = 5.0


@dataclass
class Sink:
    """One worker for one connector. Warm, the clock starts when the connector is created on the running worker; the
    worker's own start is measured beside it.
    """

    site: Site
    name: str = "Kafka Connect sink"
    converters: Sequence[str] = ()
    """Packages of the converters that Kafka's own are not enough for."""

    def warm(self) -> AbstractContextManager[None]:
        """Do nothing: a worker is started for each measurement, and its start is reported separately."""
        return nullcontext()

    def takes(self, scenario: Scenario) -> bool:
        """All of them."""
        return True

    def measure(self, scenario: Scenario, number: int) -> Measurement:
        """Start a worker, create the connector, wait for the last row."""
        namespace = self.site.namespace()
        names, visible = scenario.create(self.site.catalog(), namespace), self.site.visible
        folder = self.site.work(namespace)
        create(self.site.bootstrap, f"control-{namespace}", 1)
        address = f"http://127.0.0.1:{free_port()}"
        with Meter([self.site.catalog_process]) as meter:
            began = time.perf_counter()
            worker = self._start(folder, address)
            try:
                meter.add(psutil.Process(worker.pid))
                _answers(address, began)
                ready, cpu_of_start = time.perf_counter(), meter.usage_now().cpu_seconds
                _create(address, namespace, self._keys(scenario, namespace))
                asked = ready
                while visible.rows(names) < scenario.rows:
                    now = time.perf_counter()
                    if now - ready > TIMEOUT_S or not processes.alive(worker):
                        msg = f"the sink did not finish {scenario.name}: read {folder / 'connect.log'}"
                        raise RuntimeError(msg)
                    if now - asked > STATUS_EVERY_S:
                        _require_running(address, namespace)
                        asked = now
                    time.sleep(0.2)
                done = time.perf_counter()
                usage = meter.usage_now()
            finally:
                processes.stop(worker, signal.SIGTERM, 30)
        found = visible.rows(names)
        if found != scenario.rows:
            msg = f"the sink wrote {found} rows of {scenario.rows}"
            raise RuntimeError(msg)
        more: dict[str, Any] = {"start_seconds": ready - began, "cold_seconds": done - began}
        more |= {"cold_cpu_seconds": usage.cpu_seconds}
        cpu = usage.cpu_seconds - cpu_of_start
        return Measurement(
            scenario.name, self.name, number, scenario.records, done - ready, cpu, usage.resident_mb, more=more
        )

    def _keys(self, scenario: Scenario, namespace: str) -> dict[str, str]:
        keys = {
            "connector.class": SINK,
            **scenario.keys(namespace),
            "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
            **self.site.catalog_keys,
            "iceberg.control.commit.interval-ms": COMMIT_INTERVAL_MS,
        }
        return {key: str(value) for key, value in keys.items()}

    def _start(self, folder: Path, address: str) -> processes.Process:
        worker = folder / "worker.properties"
        settings = worker_settings(self.site.bootstrap, folder, address)
        write_properties(worker, settings | {"connector.client.config.override.policy": "All"})
        command = worker_command(["-Xms2g", "-Xmx2g"], worker, converters=self.converters)
        return processes.start(command, os.environ, folder / "connect.log", folder)


def _answers(address: str, began: float) -> None:
    while True:
        try:
            with urllib.request.urlopen(f"{address}/connectors", timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            if time.perf_counter() - began > 120:
                raise
            time.sleep(0.05)


def _require_running(address: str, name: str) -> None:
    """Raise RuntimeError with the trace of a task that has failed: it would be waited for in vain."""
    with urllib.request.urlopen(f"{address}/connectors/{name}/status", timeout=30) as answer:
        failed = [task["trace"] for task in json.load(answer)["tasks"] if task["state"] == "FAILED"]
    if failed:
        msg = f"a task of the sink failed: {failed[0]}"
        raise RuntimeError(msg)


def _create(address: str, name: str, keys: dict[str, str]) -> None:
    body = json.dumps(keys).encode()
    request = urllib.request.Request(
        f"{address}/connectors/{name}/config", body, {"Content-Type": "application/json"}, method="PUT"
    )
    with urllib.request.urlopen(request, timeout=30):
        return
