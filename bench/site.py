"""The broker and the catalog that all systems share."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from pyiceberg.catalog import Catalog, load_catalog

from bench.visible import Visible
from stack.services.broker import Broker
from stack.services.rest_catalog import RestCatalog
from stack.services.schema_registry import SchemaRegistry
from stack.services.spark_connect import ConnectServer
from stack.settings import free_port

CATALOG = "bench"


class Site:
    """One broker, one Iceberg REST catalog server, files below ``folder``."""

    def __init__(self, folder: Path, kafka_port: int, rest_port: int) -> None:
        self.folder = folder
        self._broker = Broker(folder / "kafka", kafka_port, heap="2g")
        self._rest = RestCatalog(folder, rest_port)
        self.shared_server: ConnectServer | None = None
        """A Spark Connect server that suites find up, where figures mean nothing; else each starts one of its own."""
        self.shared_registry: SchemaRegistry | None = None

    def __enter__(self) -> Site:
        self._broker.start()
        try:
            self._rest.start()
        except BaseException:
            self._broker.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._rest.stop()
        self._broker.stop()

    @contextmanager
    def sharing(self) -> Iterator[None]:
        """Keep one Spark Connect server and one schema registry up for all suites."""
        server = ConnectServer(self.folder, free_port(), warm=True)
        registry = SchemaRegistry(self.folder / "registry", free_port())
        try:
            server.start()
            registry.start()
            self.shared_server, self.shared_registry = server, registry
            yield
        finally:
            registry.stop()
            server.stop()

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
