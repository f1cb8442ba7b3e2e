"""floe, cold (spark-submit) and warm (Spark Connect)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from bench.measurement import Measurement
from bench.program import Program, environment_of
from bench.records import PIZZA
from bench.scenario import Scenario
from bench.site import Site
from bench.topics import create, fill
from stack.services.spark_connect import ConnectServer
from stack.settings import REPOSITORY, free_port

WARM_UP = "warm-up"
WARM_UP_RECORDS = 20_000
PROGRAM = REPOSITORY / "bench" / "programs" / "serve_runs.py"
DEPLOYMENT_KEY = "the-deployment-key-of-all-benchmarks"
FIRST = 2_000
"""Records of a run before the one that is measured: a table's first commit is not one of the many that follow it."""


@dataclass
class Serving:
    """What is up for runs: a process that forks them, and a Connect server if they are warm."""

    program: Program
    server: ConnectServer | None


@dataclass
class Floe:
    """One run of a connector, by a process that has its imports, as Airflow's task processes have. Warm, a Connect server
    is up; cold, everything that ``spark-submit`` starts is started within the run.

    ``tree``: the folder of the version that is measured; its ``bench/programs/run_floe.py`` calls its tasks.
    """

    site: Site
    is_warm: bool
    tree: Path = REPOSITORY
    _serving: Serving | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        """The system's name in the report."""
        return "floe warm" if self.is_warm else "floe cold"

    @property
    def server(self) -> ConnectServer:
        """The Connect server of a warm one."""
        assert self._serving is not None and self._serving.server is not None
        return self._serving.server

    @contextmanager
    def warm(self) -> Iterator[None]:
        """Keep up what is up between runs."""
        with self.site.keep(f"{self.name} of {self.tree}", self._start) as self._serving:
            if self.is_warm and not self.site.is_shared:
                topic = f"{WARM_UP}-{self.site.namespace()}"
                fill(self.site.bootstrap, topic, PIZZA, WARM_UP_RECORDS)
                self.measure(Scenario(WARM_UP, PIZZA, topic, WARM_UP_RECORDS), 0)
            yield

    @contextmanager
    def _start(self) -> Iterator[Serving]:
        folder = self.site.work(self.site.namespace())
        server = ConnectServer(folder, free_port(), warm=True, tree=self.tree) if self.is_warm else None
        if server is not None:
            server.start()
        try:
            with Program.of([str(PROGRAM)], self._environment(server), folder / "runs.log") as program:
                yield Serving(program, server)
        finally:
            if server is not None:
                server.stop()

    def takes(self, scenario: Scenario) -> bool:
        """All of them."""
        return True

    def measure(self, scenario: Scenario, number: int, most: int | None = None) -> Measurement:
        """Run once to commit a few records, then measure a run over the others; ``most``: offsets to read at most."""
        names, connector = self._connector(scenario)
        first = self._first(scenario)
        if first:
            self._run(connector, first)
        seconds, tasks, usage = self._run(connector, most)
        found = self.site.visible.rows(names)
        expected = min(scenario.rows, first + most if most else scenario.rows)
        if found != expected:
            log = self._program.log.read_text(errors="replace")[-3000:]
            msg = f"{self.name}: {found} of {expected} rows of {scenario.name} are visible: {log}"
            raise RuntimeError(msg)
        more = {f"{task}_seconds": took for task, took in tasks.items()} | dict(usage.parts)
        records = min(scenario.records - first, most or scenario.records)
        cpu, resident, worker = usage.cpu_seconds, usage.resident_mb, usage.worker_mb
        return Measurement(scenario.name, self.name, number, records, seconds, cpu, resident, worker, more)

    def idle(self, scenario: Scenario, number: int, times: int) -> Measurement:
        """Read all there is, then measure as many plans that find nothing new, each in a process of its own."""
        _, connector = self._connector(scenario)
        self._run(connector, None)
        with self.site.meter() as meter:
            self._program.write_line("idle", str(connector), str(times))
            took = self._program.read_result()
            usage = meter.usage_now()
        self._program.read_line("done")
        cpu = took["cpu_seconds"] + usage.cpu_seconds
        return Measurement(scenario.name, self.name, number, times, took["seconds"], cpu, more=dict(usage.parts))

    def _first(self, scenario: Scenario) -> int:
        """Return how many records are committed before a run is measured: none, where that costs one more JVM for nothing."""
        return 0 if self.site.is_shared and not self.is_warm else min(FIRST, scenario.records // 2)

    @property
    def _program(self) -> Program:
        assert self._serving is not None
        return self._serving.program

    def _connector(self, scenario: Scenario) -> tuple[list[str], Path]:
        """Make the tables and the connector's file, and return both."""
        namespace = self.site.namespace()
        names = scenario.create(self.site.catalog(), namespace)
        create(self.site.bootstrap, f"control-{namespace}", 1)
        connector = self.site.work(namespace) / "connector.json"
        keys = {"name": namespace, **self.site.catalog_keys, **scenario.keys(namespace)}
        connector.write_text(json.dumps(keys))
        return names, connector

    def _run(self, connector: Path, most: int | None) -> tuple[float, dict[str, float], Any]:
        """Run the three tasks; return the seconds of all and of each, and what was used."""
        program = self._program
        program.write_line("run", str(connector), *([str(most)] if most else []))
        process = psutil.Process(int(program.read_line("pid").split()[1]))
        program.read_line("ready")
        roots = [psutil.Process(self.server.pid)] if self.is_warm else []
        with self.site.meter(process, *roots) as meter:
            program.write_line("go")
            tasks = program.read_result()["seconds"]
            usage = meter.usage_now()
        program.write_line("end")
        program.read_line("done")
        return sum(tasks.values()), tasks, usage

    def _environment(self, server: ConnectServer | None) -> dict[str, str]:
        kafka = {"conn_type": "kafka", "extra": {"bootstrap.servers": self.site.bootstrap}}
        spark: dict[str, Any] = {"conn_type": "spark", "host": "local[2]"}
        if server is not None:
            spark = {"conn_type": "spark_connect", "host": "127.0.0.1", "port": server.port}
        return environment_of(
            self.tree,
            AIRFLOW_HOME=str(self.site.folder / "airflow-home"),
            AIRFLOW_CONN_KAFKA_DEFAULT=json.dumps(kafka),
            AIRFLOW_CONN_SPARK_DEFAULT=json.dumps(spark),
            FLOE_SECRET_KEY=DEPLOYMENT_KEY,
            SPARK_LOCAL_IP="127.0.0.1",
        )
