"""A real Connect worker without connectors, whose REST API tests call."""

from __future__ import annotations

import http.client
import json
import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stack import processes
from stack.progress import wait_until
from stack.services.kafka_connect import worker_command, worker_settings, write_properties
from stack.settings import free_port
from tests.support.rest.connect_calls import PLUGIN, TOPIC, Answer, Call

_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

_LOOKS = 6
"""Times in a row that a state must be seen: a worker that resumes a connector takes its tasks away in between."""


@dataclass
class ConnectWorker:
    """One worker; its connectors write below ``folder``."""

    folder: Path
    bootstrap: str
    port: int = field(default_factory=free_port)
    _process: processes.Process | None = field(default=None, init=False)

    @property
    def config(self) -> dict[str, str]:
        """A configuration that it runs."""
        return {
            "connector.class": PLUGIN,
            "tasks.max": "1",
            "topics": TOPIC,
            "iceberg.tables": "db.orders",
            "iceberg.tables.auto-create-enabled": "true",
            "iceberg.catalog.type": "hadoop",
            "iceberg.catalog.warehouse": f"file://{self.folder / 'warehouse'}",
            "iceberg.catalog.uri": "http://catalog.example:8181",  # which a catalog of this type does not read
            "iceberg.control.topic": "rest-control",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
        }

    def start(self) -> None:
        """Start it and wait for its API. Raises AssertionError with its log."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / "worker.properties"
        write_properties(file, worker_settings(self.bootstrap, self.folder, f"http://127.0.0.1:{self.port}"))
        self._process = processes.start(worker_command(_OPTIONS, file), os.environ, self.folder / "log", self.folder)
        assert wait_until(self._answers, 90), (self.folder / "log").read_text()[-4000:]

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            processes.stop(self._process, signal.SIGTERM, 30)

    def send(self, call: Call) -> Answer:
        """Send a call."""
        status, text = self._send(call.method, call.path, call.content(self.config), call.media)
        return Answer.of(status, text, self.config)

    def settle(self, name: str) -> None:
        """Wait until a connector and its tasks have the state that was asked for."""
        looks: list[bool] = []

        def is_steady() -> bool:
            looks.append(self._is_settled(name))
            return len(looks) >= _LOOKS and all(looks[-_LOOKS:])

        assert wait_until(is_steady, 60, pause=0.2), self._send("GET", f"/connectors/{name}/status", None, None)

    def _is_settled(self, name: str) -> bool:
        status, text = self._send("GET", f"/connectors/{name}/status", None, None)
        if status != 200:
            return False
        found: dict[str, Any] = json.loads(text)
        state = found["connector"]["state"]
        states = {task["state"] for task in found["tasks"]}
        has_tasks = {"RUNNING": True, "STOPPED": False}.get(state, bool(states))  # one made paused has none yet
        return state in ("RUNNING", "PAUSED", "STOPPED") and states <= {state} and bool(states) == has_tasks

    def _answers(self) -> bool:
        try:
            return self._send("GET", "/health", None, None)[0] == 200
        except OSError:
            return False

    def _send(self, method: str, path: str, body: str | None, media: str | None) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            headers = {"Accept": "application/json", **({"Content-Type": media} if media and body is not None else {})}
            connection.request(method, path, body=body, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()
