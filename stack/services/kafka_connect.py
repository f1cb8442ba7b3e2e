"""The sink that floe replaces: Iceberg's own Kafka Connect sink 1.12.0, run by a standalone Connect worker."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from stack import jars, processes
from stack.exceptions import StartFailed
from stack.java import java
from stack.progress import wait_until
from stack.settings import free_port

CONNECT = "4.3.1"
"""The newest Connect that runs the sink 1.12.0: it names a class of Kafka's that 4.4 has moved (AppInfoParser)."""

PACKAGES = (
    f"org.apache.kafka:connect-runtime:{CONNECT}",
    f"org.apache.kafka:connect-json:{CONNECT}",
    "org.apache.iceberg:iceberg-kafka-connect:1.12.0",
    "org.apache.iceberg:iceberg-parquet:1.12.0",
    "org.apache.hadoop:hadoop-client-api:3.4.1",
    "org.apache.hadoop:hadoop-client-runtime:3.4.1",
)
# a set of its own: one set contains one version of a module, and Kafka's jars require another
LOGGER = ("org.slf4j:slf4j-simple:2.0.17",)
SINK = "org.apache.iceberg.connect.IcebergSinkConnector"
WORKER = "org.apache.kafka.connect.cli.ConnectStandalone"


def worker_settings(bootstrap: str, folder: Path, address: str) -> dict[str, str]:
    """Return the settings that every worker gets; ``address`` is that of its REST API."""
    return {
        "bootstrap.servers": bootstrap,
        "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "offset.storage.file.filename": str(folder / "offsets"),
        # else an idle task never answers a commit
        "offset.flush.interval.ms": "1000",
        "plugin.discovery": "service_load",
        "listeners": address,
    }


def write_properties(file: Path, settings: Mapping[str, str]) -> None:
    """Write a Java properties file."""
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))


def worker_command(options: Sequence[str], *files: Path, converters: Sequence[str] = ()) -> list[str]:
    """Return the command of a worker with Java's options: its properties, then connectors to start with.

    ``converters``: packages of converters beside Kafka's own.
    """
    path = os.pathsep.join(map(str, [*jars.resolve((*PACKAGES, *converters)), *jars.resolve(LOGGER)]))
    return [java(), *options, "-cp", path, WORKER, *map(str, files)]


_TAIL: Final = 40
_ROUTINE: Final = re.compile(r"_COMMIT|DATA_COMPLETE|initiated commit|ready, received|committed to 0 table")
"""What is in the log in each commit interval without records."""


@dataclass
class KafkaConnect:
    """One worker with one connector, its files below ``folder``; ``keys`` are a connector's, floe's own left out."""

    folder: Path
    bootstrap: str
    keys: Mapping[str, Any]
    _process: processes.Process | None = field(default=None, init=False)

    @property
    def log(self) -> Path:
        """The log of the worker."""
        return self.folder / "connect.log"

    def start(self, **more: Any) -> None:
        """Start the worker; ``more`` are keys that override the connector's, with ``__`` for ``-`` and ``_`` for ``.``."""
        self.folder.mkdir(parents=True, exist_ok=True)
        over = {key.replace("__", "-").replace("_", "."): value for key, value in more.items()}
        connector = self.folder / "connector.json"
        connector.write_text(json.dumps({"name": self.keys["name"], "config": self._connector(over)}))
        worker = self.folder / "worker.properties"
        write_properties(worker, self._worker())
        command = worker_command(["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"], worker, connector)
        self._process = processes.start(command, os.environ, self.log, self.folder)

    def stop(self) -> None:
        """End it as an operator does: tasks close, and members leave the group."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a machine that loses power would; the group forgets its members after their session's time-out."""
        self._end(signal.SIGKILL)

    @property
    def running(self) -> bool:
        """Whether the worker's process runs."""
        return self._process is not None and processes.alive(self._process)

    def wait_for(self, condition: Any, seconds: float = 90) -> None:
        """Wait for a condition. Raises StartFailed with the end of the worker's log if it does not come true."""
        happened = wait_until(lambda: not self.running or condition(), seconds)
        if not (happened and self.running):
            message = f"the Kafka Connect worker ended, or what was waited for did not come: {self._tail()}"
            raise StartFailed(message)

    def _end(self, signum: signal.Signals) -> None:
        if self._process is not None:
            processes.stop(self._process, signum, 30)
            self._process = None

    def _tail(self) -> str:
        """Return the end of the log without what a coordinator writes in each interval, but for the last lines of all."""
        lines = self.log.read_text(errors="replace").splitlines()
        telling = [line for line in lines[:-_TAIL] if not _ROUTINE.search(line)]
        return "\n".join([*telling[-_TAIL:], *lines[-_TAIL:]])

    def _connector(self, over: Mapping[str, Any]) -> dict[str, str]:
        known = {key: value for key, value in self.keys.items() if not key.startswith("floe.") and key != "name"}
        # a killed coordinator is forgotten soon too
        merged = {**known, "connector.class": SINK, "iceberg.kafka.session.timeout.ms": 6000, **over}
        return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in merged.items()}

    def _worker(self) -> dict[str, str]:
        return {
            **worker_settings(self.bootstrap, self.folder, f"http://127.0.0.1:{free_port()}"),
            # a killed member is forgotten soon, as the tests wait for it
            "consumer.session.timeout.ms": "6000",
            "consumer.heartbeat.interval.ms": "1000",
            "consumer.metadata.max.age.ms": "1000",
        }
