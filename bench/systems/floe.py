"""floe, cold (spark-submit) and warm (Spark Connect)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from bench.measurement import Measurement
from bench.records import PIZZA
from bench.scenario import Scenario
from bench.site import Site
from bench.topics import create, fill
from bench.usage import Meter
from stack.services.spark_connect import ConnectServer
from stack.settings import REPOSITORY, free_port

WARM_UP = "warm-up"
PROGRAM = REPOSITORY / "bench" / "programs" / "run_floe.py"


@dataclass
class Floe:
    """One run of a connector, by a process that has its imports, as Airflow's task processes have. Warm, a Connect server
    is up; cold, everything that ``spark-submit`` starts is started within the run.
    """

    site: Site
    is_warm: bool
    server: ConnectServer | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        """The system's name in the report."""
        return "floe warm" if self.is_warm else "floe cold"

    @contextmanager
    def warm(self) -> Iterator[None]:
        """Keep a Connect server up."""
        if not self.is_warm:
            yield
            return
        if self.site.shared_server is not None:
            self.server = self.site.shared_server
            yield
            return
        self.server = ConnectServer(self.site.folder, free_port(), warm=True)
        self.server.start()
        try:
            topic = f"{WARM_UP}-{self.site.namespace()}"
            fill(self.site.bootstrap, topic, PIZZA, 20_000)
            self.measure(Scenario(WARM_UP, PIZZA, topic, 20_000), 0)
            yield
        finally:
            self.server.stop()

    def takes(self, scenario: Scenario) -> bool:
        """All of them."""
        return True

    def measure(self, scenario: Scenario, number: int, most: int | None = None) -> Measurement:
        """Run once; ``most``: offsets to read at most."""
        namespace = self.site.namespace()
        names = scenario.create(self.site.catalog(), namespace)
        create(self.site.bootstrap, f"control-{namespace}", 1)
        folder = self.site.work(namespace)
        connector = folder / "connector.json"
        keys = {"name": namespace, **self.site.catalog_keys, **scenario.keys(namespace)}
        connector.write_text(json.dumps(keys))
        command = [sys.executable, str(PROGRAM), str(connector)]
        command += [str(most)] if most else []
        roots = [self.site.catalog_process, *([psutil.Process(self.server.pid)] if self.server else [])]
        with (folder / "run.log").open("w") as log, Meter(roots) as meter:
            run = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=self._environment(), text=True
            )
            assert run.stdin is not None and run.stdout is not None
            with run:
                line = read_line(run.stdout, "ready", log.name)
                meter.add(psutil.Process(run.pid), from_now=True)
                began = time.perf_counter()
                run.stdin.write("go\n")
                run.stdin.flush()
                line = read_line(run.stdout, "{", log.name)
                seconds = time.perf_counter() - began
                usage = meter.usage_now()
        found = self.site.visible.rows(names)
        expected = min(scenario.rows, most or scenario.rows)
        if found != expected:
            msg = f"{self.name}: {found} of {expected} rows of {scenario.name} are visible: read {folder / 'run.log'}"
            raise RuntimeError(msg)
        more = {f"{task}_seconds": took for task, took in json.loads(line)["seconds"].items()} | dict(usage.parts)
        return Measurement(
            scenario.name,
            self.name,
            number,
            min(scenario.records, most or scenario.records),
            seconds,
            usage.cpu_seconds,
            usage.resident_mb,
            usage.worker_mb,
            more,
        )

    def _environment(self) -> dict[str, str]:
        kafka = {"conn_type": "kafka", "extra": {"bootstrap.servers": self.site.bootstrap}}
        spark: dict[str, Any] = {"conn_type": "spark", "host": "local[2]"}
        if self.server is not None:
            spark = {"conn_type": "spark_connect", "host": "127.0.0.1", "port": self.server.port}
        folders = [str(REPOSITORY / name) for name in ("plugins", "spark_jobs", ".")]
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(folders),
            "AIRFLOW_HOME": str(self.site.folder / "airflow-home"),
            "AIRFLOW_CONN_KAFKA_DEFAULT": json.dumps(kafka),
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(spark),
            "FLOE_SECRET_KEY": "the-deployment-key-of-all-benchmarks",
            "SPARK_LOCAL_IP": "127.0.0.1",
        }


def read_line(output: Any, start: str, log: str) -> str:
    """Read on to the line that starts with ``start``. Raises RuntimeError with the end of the log if there is none."""
    for line in output:
        if line.startswith(start):
            return str(line)
    said = Path(log).read_text(encoding="utf-8", errors="replace").splitlines()[-10:]  # its folder is removed
    msg = "\n".join(["the run ended early; the end of its log:", *said])
    raise RuntimeError(msg)
