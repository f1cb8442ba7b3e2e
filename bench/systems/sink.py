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
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from bench.measurement import Measurement
from bench.scenario import Scenario
from bench.site import Site
from bench.topics import create
from stack import processes
from stack.services.kafka_connect import SINK, worker_command, worker_settings, write_properties
from stack.settings import free_port

COMMIT_INTERVAL_MS = 5_000
SHARED_INTERVAL_MS = 200
"""Between two commits, and between two of a task's offsets, where figures mean nothing."""

CONVERTERS = ("io.apicurio:apicurio-registry-utils-converter:2.6.13.Final", "org.apache.avro:avro:1.12.1")
"""Packages of the converters of the formats with schemas."""

STARTED_WITHIN_S = 600.0
"""A worker that starts reads every jar of its plugins: beside busy processes for minutes."""

TIMEOUT_S = 900.0
STATUS_EVERY_S = 5.0


@dataclass
class Worker:
    """A worker that answers, and the seconds and the CPU seconds of its start."""

    process: processes.Process
    address: str
    log: Path
    start_seconds: float
    start_cpu_seconds: float


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
        create(self.site.bootstrap, f"control-{namespace}", 1)
        with (
            self.site.keep("sink", self._worker) as worker,
            self.site.meter(psutil.Process(worker.process.pid)) as meter,
        ):
            began = time.perf_counter()
            _call(worker.address, f"{namespace}/config", "PUT", self._keys(scenario, namespace))
            asked = began
            while visible.rows(names) < scenario.rows:
                now = time.perf_counter()
                if now - began > TIMEOUT_S or not processes.alive(worker.process):
                    tail = worker.log.read_text(errors="replace")[-3000:]
                    msg = f"the sink did not finish {scenario.name}: {tail}"
                    raise RuntimeError(msg)
                if now - asked > STATUS_EVERY_S:
                    _require_running(worker.address, namespace)
                    asked = now
                time.sleep(0.2)
            seconds = time.perf_counter() - began
            usage = meter.usage_now()
            _call(worker.address, namespace, "DELETE")
        found = visible.rows(names)
        if found != scenario.rows:
            msg = f"the sink wrote {found} rows of {scenario.rows}"
            raise RuntimeError(msg)
        more: dict[str, Any] = {
            "start_seconds": worker.start_seconds,
            "cold_seconds": worker.start_seconds + seconds,
            "cold_cpu_seconds": worker.start_cpu_seconds + usage.cpu_seconds,
        } | dict(usage.parts)
        cpu, resident = usage.cpu_seconds, usage.resident_mb
        return Measurement(scenario.name, self.name, number, scenario.records, seconds, cpu, resident, more=more)

    @contextmanager
    def _worker(self) -> Iterator[Worker]:
        """Keep a worker up: with the converters of all suites, where they share it."""
        folder, address = self.site.work(self.site.namespace()), f"http://127.0.0.1:{free_port()}"
        with self.site.meter() as meter:
            began = time.perf_counter()
            process = self._start(folder, address)
            try:
                meter.add(psutil.Process(process.pid))
                _answers(process, address, began)
                seconds, cpu = time.perf_counter() - began, meter.usage_now().cpu_seconds
                yield Worker(process, address, folder / "connect.log", seconds, cpu)
            finally:
                processes.stop(process, signal.SIGTERM, 30)

    def _keys(self, scenario: Scenario, namespace: str) -> dict[str, str]:
        keys = {
            "connector.class": SINK,
            **scenario.keys(namespace),
            "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
            **self.site.catalog_keys,
            "iceberg.control.commit.interval-ms": SHARED_INTERVAL_MS if self.site.is_shared else COMMIT_INTERVAL_MS,
        }
        return {key: str(value) for key, value in keys.items()}

    def _start(self, folder: Path, address: str) -> processes.Process:
        worker = folder / "worker.properties"
        settings = worker_settings(self.site.bootstrap, folder, address)
        settings |= {"connector.client.config.override.policy": "All"}
        if self.site.is_shared:
            settings |= {"offset.flush.interval.ms": str(SHARED_INTERVAL_MS)}
        write_properties(worker, settings)
        heap, converters = ("512m", CONVERTERS) if self.site.is_shared else ("2g", self.converters)
        command = worker_command([f"-Xms{heap}", f"-Xmx{heap}"], worker, converters=converters)
        return processes.start(command, os.environ, folder / "connect.log", folder)


def _answers(process: processes.Process, address: str, began: float) -> None:
    while True:
        try:
            with urllib.request.urlopen(f"{address}/connectors", timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            if time.perf_counter() - began > STARTED_WITHIN_S or not processes.alive(process):
                raise
            time.sleep(0.05)


def _require_running(address: str, name: str) -> None:
    """Raise RuntimeError with the trace of a task that has failed: it would be waited for in vain."""
    with urllib.request.urlopen(f"{address}/connectors/{name}/status", timeout=30) as answer:
        failed = [task["trace"] for task in json.load(answer)["tasks"] if task["state"] == "FAILED"]
    if failed:
        msg = f"a task of the sink failed: {failed[0]}"
        raise RuntimeError(msg)


def _call(address: str, path: str, method: str, keys: dict[str, str] | None = None) -> None:
    body, headers = json.dumps(keys or {}).encode(), {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{address}/connectors/{path}", body, headers, method=method)
    with urllib.request.urlopen(request, timeout=30):
        return
