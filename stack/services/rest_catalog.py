"""Iceberg's own REST catalog server (its test fixture), on loopback, with a SQLite database and a local warehouse."""

from __future__ import annotations

import os
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

from stack import jars
from stack.exceptions import StartFailed
from stack.java import java
from stack.progress import wait_until

SERVER = "org.apache.iceberg.rest.RESTCatalogServer"
READY_WITHIN = 120.0
ICEBERG = "1.11.0"
# the server and its tests' classes in sets of their own: one set holds one artifact of a module
PACKAGES = (
    (
        f"org.apache.iceberg:iceberg-core:{ICEBERG}",
        "org.eclipse.jetty.ee10:jetty-ee10-servlet:12.1.5",
        "org.eclipse.jetty.compression:jetty-compression-server:12.1.5",
        "org.eclipse.jetty.compression:jetty-compression-gzip:12.1.5",
        "org.xerial:sqlite-jdbc:3.50.3.0",
        "org.slf4j:slf4j-simple:2.0.17",
        "org.apache.hadoop:hadoop-client-api:3.4.1",
        "org.apache.hadoop:hadoop-client-runtime:3.4.1",
    ),
    (f"org.apache.iceberg:iceberg-core:{ICEBERG}:tests",),
    (f"org.apache.iceberg:iceberg-open-api:{ICEBERG}:test-fixtures",),
)


class RestCatalog:
    """Starts and stops the server; ``uri`` is its address."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        """The server's address."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        """The server's process. Raises StartFailed if it was not started."""
        if self._process is None:
            message = "the REST catalog was not started"
            raise StartFailed(message)
        return self._process.pid

    @property
    def database(self) -> Path:
        """The SQLite file with the current metadata file of each table."""
        return self._folder / "rest.db"

    @property
    def warehouse(self) -> str:
        """The folder of its tables, as a URI."""
        return f"file://{self._folder}/warehouse"

    def start(self) -> None:
        """Start it and wait until it answers. Raises StartFailed."""
        found = {path for i, one in enumerate(PACKAGES) for path in jars.resolve(one, transitive=i == 0)}
        environment = {
            **os.environ,
            "CATALOG_REST_PORT": str(self._port),
            "CATALOG_CATALOG__IMPL": "org.apache.iceberg.jdbc.JdbcCatalog",
            "CATALOG_URI": f"jdbc:sqlite:file:{self.database}",
            "CATALOG_WAREHOUSE": self.warehouse,
            "CATALOG_JDBC_USER": "user",
            "CATALOG_JDBC_PASSWORD": "password",
        }
        log = self._folder / "rest.log"
        with log.open("wb") as output:
            command = [java(), "-Xmx256m", "-cp", os.pathsep.join(map(str, sorted(found))), SERVER]
            self._process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        process = self._process
        if (
            not wait_until(lambda: process.poll() is not None or self._answers(), READY_WITHIN)
            or process.poll() is not None
        ):
            self.stop()
            message = f"the REST catalog ended or does not answer: {log.read_text(errors='replace')[-3000:]}"
            raise StartFailed(message)

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.uri}/v1/config", timeout=2) as answer:  # noqa: S310 - http, on loopback
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False
