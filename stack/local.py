"""The whole stack of one state folder: broker, Airflow, the catalog's files; registry and S3 store if asked for."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stack import jars, processes
from stack.exceptions import AlreadyAtWork, StackError
from stack.progress import say, step, wait_until
from stack.services import broker, schema_registry
from stack.services.airflow import USER, Airflow
from stack.services.broker import Broker
from stack.services.object_store import ObjectStore
from stack.services.recorded_service import RecordedService
from stack.services.schema_registry import SchemaRegistry
from stack.settings import CONNECTORS, EMPTY, S3, STORE, WORKER, Settings, require_free, require_room

CATALOG = "demo"
_REST = {"FLOE_REST_CONNECTORS": "true", "FLOE_REST_CONNECTIONS": f"{CATALOG},kafka_default,spark_default"}
"""What connectors made by REST may be and name, unless the environment says it."""
_OWNER_STOPS_WITHIN = 60.0


@dataclass(frozen=True)
class Part:
    """A service of the stack: how it is called, in short and in a sentence, and the address that clients use."""

    service: RecordedService
    name: str
    title: str
    address: str


class Local:
    """Starts, stops and wipes the stack; every operation may be repeated."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        state = settings.state
        self.broker = Broker(
            state / "kafka", settings.kafka_port, settings.controller_port, jar_cache=settings.jars, heap="512m"
        )
        self.registry = SchemaRegistry(
            state / "schema-registry", settings.registry_port, jar_cache=settings.jars, keeps=True
        )
        self.store = ObjectStore(state / "object-store", settings.s3_port)
        self.airflow = self._airflow()
        self._lock = state / "lock"

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Local:
        """Return the stack of an environment. One that runs has the ports and folders that it was started with."""
        one = cls(Settings.read(environ))
        return cls(Settings.read(environ, is_running=True)) if one.running else one

    @property
    def has_registry(self) -> bool:
        """Whether the stack has a schema registry, and connectors with Avro: asked for now, or when its data was made."""
        return self.settings.registry or self.registry.folder.exists()

    @property
    def has_store(self) -> bool:
        """Whether the tables are on S3: asked for now, or when the stack's data was made."""
        return self.settings.on_s3 or self.store.folder.exists()

    @property
    def catalog(self) -> dict[str, str]:
        """The properties of the demo catalog, as PyIceberg has them."""
        folder = {"warehouse": self.settings.warehouse.as_uri()}
        return {"uri": self.settings.catalog_uri, **(self.store.properties if self.has_store else folder)}

    @property
    def connectors(self) -> Path:
        """The folder of connectors that Airflow reads."""
        if self.settings.connectors is not None:
            return self.settings.connectors
        if self.is_empty:
            return self.settings.state / "connectors"
        return self.settings.dags / ("connectors-avro" if self.has_registry else "connectors")

    @property
    def is_empty(self) -> bool:
        """Whether the stack has nothing of the demo, and connectors of its own: asked for now, or when its data was made."""
        return self.settings.empty or self.empty_mark.exists()

    @property
    def empty_mark(self) -> Path:
        """The file that says that the data is of a stack without the demo; it counts as one that says that it is filled."""
        return self.settings.state / "filled-empty"

    @property
    def running(self) -> bool:
        """Whether any part of the stack runs."""
        return any(one.running for one in (self.broker, self.registry, self.store, self.airflow))

    @property
    def complete(self) -> bool:
        """Whether all parts of the stack run."""
        return all(part.service.running for part in self._parts())

    def require_its_store(self) -> None:
        """Raise StackError if what runs, or what is kept, has its tables elsewhere, or has lost them."""
        wanted = f"`make up {STORE}={S3}`"
        if self.has_store and self.running and not self.store.running:
            message = f"the stack is running without its S3 store, where the tables are: run `make down`, then {wanted}"
            raise StackError(message)
        if self.settings.on_s3 and not self.store.folder.exists() and any(self.settings.state.glob("filled*")):
            message = (
                f"the stack in {self.settings.state} has its tables in a folder: remove it by `make clean`, or name "
            )
            message += f"another by FLOE_STATE, then {wanted}"
            raise StackError(message)

    def require_its_settings(self, environ: Mapping[str, str]) -> None:
        """Raise StackError if it runs, and the environment names another port or folder than it was started with."""
        asked = Settings.read(environ)
        differing = [
            f"{name} is {one}, not {other}"
            for (name, one), (_, other) in zip(self.settings.variables.items(), asked.variables.items(), strict=True)
            if one != other
        ]
        if differing and self.running:
            message = f"the stack in {self.settings.state} is running: its {'; its '.join(differing)}. Run `make down` "
            message += "first, or leave the variable out"
            raise StackError(message)

    def require_empty(self) -> None:
        """Raise StackError if an empty stack is asked for, and there is a demo's."""
        has_demo = self.running or any(self.settings.state.glob("filled*"))
        if self.settings.empty and has_demo and not self.empty_mark.exists():
            message = f"the stack in {self.settings.state} has the demo's connector and records: remove them by "
            message += f"`make clean`, or name another folder by FLOE_STATE, then `make up {EMPTY}=1`"
            raise StackError(message)

    def start(self) -> None:
        """Start what does not run, a line of progress for each part; what this call started is stopped if it fails.

        Raises StackError for a full disk and PortTaken for any port, before anything is started.
        """
        require_room(self.settings.state)
        wanted = {part.service.port for part in self._parts() if not part.service.running}
        for variable, port in self.settings.ports.items():
            if port in wanted:
                require_free(port, variable)
        self.settings.remember()
        if self.is_empty:
            self.connectors.mkdir(parents=True, exist_ok=True)
        if not self.has_store:
            self.settings.warehouse.mkdir(parents=True, exist_ok=True)
        started: list[RecordedService] = []
        try:
            for part in self._parts():
                if not part.service.running:
                    self._fetch(part.service)
                    with step(f"{part.title} at {part.address}"):
                        part.service.start()
                    started.insert(0, part.service)
        except BaseException:
            for service in started:
                service.stop()
            raise

    def stop(self) -> None:
        """Stop all parts, Airflow first: its tasks end while broker and registry still answer."""
        for part in reversed(self._parts()):
            if part.service.process is not None:
                with step(f"stop {part.title if part.service is self.airflow else f'the {part.title}'}"):
                    part.service.stop()
        if self.has_store and self.forget_lost_tables():
            say("The tables went with the S3 store, which is in memory. Topics, Airflow and its connectors are kept.")

    def wipe(self) -> None:
        """Remove the data of a stopped stack: topics, Airflow's home, catalog, warehouse. Jars are kept."""
        services = (self.broker, self.registry, self.store, self.airflow)
        for folder in (*(service.folder for service in services), self.settings.warehouse):
            shutil.rmtree(folder, ignore_errors=True)
        self._forget_catalog()
        self.forget_fills()
        self.settings.forget()
        # the registry and the store that its connectors needed may be gone
        self.airflow = self._airflow()

    def forget_fills(self) -> None:
        """Remove the files that say that the first records of a demo are in."""
        for file in self.settings.state.glob("filled*"):
            file.unlink()

    @property
    def is_filled(self) -> bool:
        """Whether the first records of any demo are in their topic, so that there is data to keep."""
        return any(self.settings.state.glob("filled*"))

    @property
    def has_catalog(self) -> bool:
        """Whether a run has made the catalog of the demo."""
        return any(self._catalog_files())

    def forget_lost_tables(self) -> bool:
        """Remove the catalog, whose tables were in a store that has ended; say whether there was one."""
        is_lost = self.has_store and not self.store.running and self.has_catalog
        if is_lost:
            self._forget_catalog()
        return is_lost

    @property
    def interrupted(self) -> Path:
        """The file that says that a demo owns what runs; it outlives the demo only if that was killed."""
        return self.settings.state / "demo"

    def describe(self) -> None:
        """Print what runs and where."""
        for part in self._parts():
            process = part.service.process
            state = f"runs at {part.address} (pid {process.pid})" if process and part.service.running else "is down"
            say(f"{part.name:8} {state}")
        if self.airflow.running:
            for text in self.airflow.dead_parts():
                say(f"Problem  {text}")
            say(f"Login    {USER} / {self.airflow.password()}")
        say(f"Catalog  {self.settings.catalog_uri}")
        if self.has_store:
            say(f"Tables in {self.catalog['warehouse']}, in memory: `make down` loses them, and nothing else")
        if self.has_registry or self.is_empty:
            say(f"Connectors in {self.connectors}")
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

    def _airflow(self) -> Airflow:
        settings = self.settings
        folder = settings.state / "airflow"
        return Airflow(folder, settings.airflow_port, settings.dags, settings.plugins, self._environment())

    def _parts(self) -> list[Part]:
        """Return the parts in the order in which they start."""
        registry = Part(self.registry, "Registry", "schema registry", self.registry.confluent_url)
        store = Part(self.store, "Store", "S3 store (in memory)", self.store.url)
        return [
            Part(self.broker, "Kafka", "Kafka broker", self.broker.bootstrap),
            *([registry] if self.has_registry else []),
            *([store] if self.has_store else []),
            Part(self.airflow, "Airflow", "Airflow", self.airflow.url),
        ]

    def _fetch(self, service: RecordedService) -> None:
        """Fetch what a service needs, with a line of progress of its own."""
        if service is self.broker:
            with step("Kafka's jars (downloaded the first time)", jars.arrived(self.settings.jars)):
                jars.resolve(broker.PACKAGES, self.settings.jars)
        elif service is self.registry:
            with step("the schema registry's archive (downloaded the first time)", jars.arrived(self.settings.jars)):
                schema_registry.installed(self.settings.jars)

    def _catalog_files(self) -> Iterator[Path]:
        return self.settings.state.glob("catalog.db*")

    def _forget_catalog(self) -> None:
        for file in self._catalog_files():
            file.unlink()

    @property
    def _owner(self) -> Path:
        return self.settings.state / "owner.json"

    def _environment(self) -> dict[str, str]:
        """Return what Airflow's tasks need to find the broker, Spark, the catalog and the registry."""
        kafka = {"conn_type": "kafka", "extra": {"bootstrap.servers": self.settings.bootstrap}}
        spark = {"conn_type": "spark", "host": "local[2]"}
        catalog = {_variable(name): value for name, value in self.catalog.items()}
        return {
            "AIRFLOW_CONN_KAFKA_DEFAULT": json.dumps(kafka),
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(spark),
            **catalog,
            **{name: os.environ.get(name, "").strip() or value for name, value in _REST.items()},
            "SCHEMA_REGISTRY_URL": self.registry.confluent_url,
            CONNECTORS: str(self.connectors),
            WORKER: str(self.settings.worker),
        }


def _variable(name: str) -> str:
    """Return the variable that gives PyIceberg a property of the demo catalog."""
    return f"PYICEBERG_CATALOG__{CATALOG}__{name}".replace(".", "__").replace("-", "_").upper()
