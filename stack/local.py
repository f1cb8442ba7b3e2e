"""The whole stack of one state folder: the broker, Airflow and the catalog's files."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stack import jars, processes
from stack.exceptions import AlreadyAtWork
from stack.progress import say, step, wait_until
from stack.services import broker
from stack.services.airflow import USER, Airflow
from stack.services.broker import Broker
from stack.settings import Settings

CATALOG = "demo"
_OWNER_STOPS_WITHIN = 60.0


class Local:
    """Starts, stops and wipes the stack; every operation may be repeated."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        state = settings.state
        self.broker = Broker(
            state / "kafka", settings.kafka_port, settings.controller_port, jar_cache=settings.jars, heap="512m"
        )
        self.airflow = Airflow(
            state / "airflow", settings.airflow_port, settings.dags, settings.plugins, self._environment()
        )
        self._lock = state / "lock"

    @property
    def running(self) -> bool:
        """Whether any part of the stack runs."""
        return self.broker.running or self.airflow.running

    @property
    def complete(self) -> bool:
        """Whether all parts of the stack run."""
        return self.broker.running and self.airflow.running

    def start(self) -> None:
        """Start what does not run, a line of progress for each part; what this call started is stopped if it fails."""
        self.settings.warehouse.mkdir(parents=True, exist_ok=True)
        had_broker = self.broker.running
        try:
            if not had_broker:
                with step("Kafka's jars (downloaded the first time)"):
                    jars.resolve(broker.PACKAGES, self.settings.jars)
                with step(f"Kafka broker at {self.broker.bootstrap}"):
                    self.broker.start()
            if not self.airflow.running:
                with step(f"Airflow at {self.airflow.url}"):
                    self.airflow.start()
        except BaseException:
            if not had_broker:
                self.broker.stop()
            raise

    def stop(self) -> None:
        """Stop all parts, Airflow first: its tasks end while the broker still answers."""
        if self.airflow.process is not None:
            with step("stop Airflow"):
                self.airflow.stop()
        if self.broker.process is not None:
            with step("stop the Kafka broker"):
                self.broker.stop()

    def wipe(self) -> None:
        """Remove the data of a stopped stack: topics, Airflow's home, catalog, warehouse. Jars are kept."""
        for folder in (self.broker.folder, self.airflow.folder, self.settings.warehouse):
            shutil.rmtree(folder, ignore_errors=True)
        for file in self.settings.state.glob("catalog.db*"):
            file.unlink()
        self.filled.unlink(missing_ok=True)

    @property
    def filled(self) -> Path:
        """The file that says that the demo's first records are in."""
        return self.settings.state / "filled"

    @property
    def interrupted(self) -> Path:
        """The file that says that a demo owns what runs; it outlives the demo only if that was killed."""
        return self.settings.state / "demo"

    def describe(self) -> None:
        """Print what runs and where."""
        for name, part, address in (
            ("Kafka", self.broker, self.broker.bootstrap),
            ("Airflow", self.airflow, self.airflow.url),
        ):
            process = part.process
            state = f"runs at {address} (pid {process.pid})" if process and part.running else "is down"
            say(f"{name:8} {state}")
        if self.airflow.running:
            say(f"Login    {USER} / {self.airflow.password()}")
        say(f"Catalog  {self.settings.catalog_uri}")
        say(f"State    {self.settings.state}")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the state folder for one command; raises AlreadyAtWork naming the pid that holds it."""
        self._lock.parent.mkdir(parents=True, exist_ok=True)
        with self._lock.open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                owner = processes.load(self._owner)
                who = f"pid {owner.pid}" if owner else "another command"
                message = f"{who} is at work in {self.settings.state}: wait for it, or end it by `make down`"
                raise AlreadyAtWork(message) from error
            processes.save(processes.current(), self._owner)
            try:
                yield
            finally:
                self._owner.unlink(missing_ok=True)

    def end_owner(self) -> None:
        """End another command that is at work in this state folder, and wait until it cleaned up."""
        owner = processes.load(self._owner)
        if owner is None or owner.pid == os.getpid() or not processes.alive(owner):
            return
        with step(f"end the command that is at work (pid {owner.pid})"):
            processes.send(owner, signal.SIGTERM)
            wait_until(lambda: not processes.alive(owner), _OWNER_STOPS_WITHIN)

    @property
    def _owner(self) -> Path:
        return self.settings.state / "owner.json"

    def _environment(self) -> dict[str, str]:
        """Return what Airflow's tasks need to find the broker, Spark and the catalog."""
        kafka = {"conn_type": "kafka", "extra": {"bootstrap.servers": self.settings.bootstrap}}
        spark = {"conn_type": "spark", "host": "local[2]"}
        catalog = f"PYICEBERG_CATALOG__{CATALOG.upper()}__"
        return {
            "AIRFLOW_CONN_KAFKA_DEFAULT": json.dumps(kafka),
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(spark),
            f"{catalog}URI": self.settings.catalog_uri,
            f"{catalog}WAREHOUSE": self.settings.warehouse.as_uri(),
        }
