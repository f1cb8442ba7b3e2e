"""The broker and the catalog that all systems share."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil
from pyiceberg.catalog import Catalog, load_catalog

from bench.scenario import Scenario
from bench.topics import PARTITIONS, batch_bytes, fill
from bench.usage import Meter
from bench.visible import Visible
from stack.exceptions import StartFailed
from stack.progress import step
from stack.services.broker import Broker
from stack.services.rest_catalog import RestCatalog
from stack.services.schema_registry import SchemaRegistry
from stack.settings import free_port

CATALOG = "bench"
Server = TypeVar("Server")


FULL_BATCHES = 8
"""From as many batches in a partition on, the last one, which is not full, says nothing about the median."""


@dataclass(frozen=True)
class Filled:
    """What is in a topic: the bytes of its values, and the median size of the producers' batches."""

    value_bytes: int
    batch_bytes: int


class Site:
    """One broker, one Iceberg REST catalog server, files below ``folder``.

    ``is_shared``: what a suite keeps up stays up for the others, where figures mean nothing; else each starts its own.
    """

    def __init__(self, folder: Path, kafka_port: int, rest_port: int, *, is_shared: bool = False) -> None:
        self.folder = folder
        self.is_shared = is_shared
        self._broker = Broker(folder / "kafka", kafka_port, heap="2g")
        self._rest = RestCatalog(folder, rest_port)
        self._up = ExitStack()
        self._kept: dict[str, Any] = {}
        self._filled: dict[str, Filled] = {}

    def __enter__(self) -> Site:
        with ExitStack() as stack:
            self._broker.start()
            stack.callback(self._broker.stop)
            self._rest.start()
            stack.callback(self._rest.stop)
            self._up = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._up.close()

    @contextmanager
    def keep(self, name: str, start: Callable[[], AbstractContextManager[Server]]) -> Iterator[Server]:
        """Keep a server up for as long as the caller needs it, or for all suites where they share."""
        if not self.is_shared:
            with start() as server:
                yield server
            return
        if name not in self._kept:
            self._kept[name] = self._up.enter_context(start())
        yield self._kept[name]

    def fill(self, scenario: Scenario) -> Filled:
        """Fill the topic of a scenario, unless it is filled, and return what is in it.

        Raises RuntimeError if the batches do not have the size that the scenario is about.
        """
        topic = scenario.topic
        if topic not in self._filled:
            with step(f"{scenario.records} records of shape {scenario.shape.name!r} in topic {topic!r}"):
                nbytes = fill(self.bootstrap, topic, scenario.shape, scenario.records, batch=scenario.batch)
            found = Filled(nbytes, batch_bytes(self._broker.folder / "data", topic))
            is_many = nbytes > PARTITIONS * FULL_BATCHES * scenario.batch
            if is_many and not 0.75 * scenario.batch < found.batch_bytes <= scenario.batch:
                msg = f"half of the batches in {topic!r} have {found.batch_bytes} bytes or less, not {scenario.batch}"
                raise RuntimeError(msg)
            self._filled[topic] = found
        return self._filled[topic]

    @contextmanager
    def registry(self) -> Iterator[SchemaRegistry]:
        """Keep a schema registry up."""
        with self.keep("registry", self._registry) as registry:
            yield registry

    @contextmanager
    def _registry(self) -> Iterator[SchemaRegistry]:
        registry = SchemaRegistry(self.work(f"registry-{self.namespace()}"), free_port())
        with step("a schema registry"):
            registry.start()
        try:
            yield registry
        finally:
            registry.stop()

    @property
    def bootstrap(self) -> str:
        """The broker's address."""
        return self._broker.bootstrap

    @property
    def catalog_props(self) -> dict[str, str]:
        """The catalog's properties, as floe and the sink take them."""
        return {"type": "rest", "uri": self._rest.uri, "warehouse": self._rest.warehouse}

    @property
    def catalog_keys(self) -> dict[str, str]:
        """The same as keys of a connector."""
        props = {f"iceberg.catalog.{key}": value for key, value in self.catalog_props.items()}
        return {"iceberg.catalog": CATALOG, **props}

    @property
    def visible(self) -> Visible:
        """What readers see."""
        return Visible(self._rest.database)

    @property
    def broker_process(self) -> psutil.Process:
        """The broker: it works for every system, and is counted for each. Raises StartFailed if it was not started."""
        process = self._broker.process
        if process is None:
            message = "the broker was not started"
            raise StartFailed(message)
        return psutil.Process(process.pid)

    def meter(self, *roots: psutil.Process) -> Meter:
        """Measure a system's processes, and what works for it: the broker, the catalog's server."""
        return Meter([self.catalog_process, *roots], self.broker_process)

    @property
    def catalog_process(self) -> psutil.Process:
        """The catalog server: it works for every system, and is counted for each."""
        return psutil.Process(self._rest.pid)

    def catalog(self) -> Catalog:
        """Open the catalog."""
        return load_catalog(CATALOG, **self.catalog_props)

    def namespace(self) -> str:
        """Return a name that was not used before."""
        return f"b{uuid.uuid4().hex[:10]}"

    def work(self, namespace: str) -> Path:
        """Make a folder for one run of a system."""
        path = self.folder / "work" / namespace
        path.mkdir(parents=True)
        return path
