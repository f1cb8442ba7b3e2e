"""Airflow's real API server in a process of its own, with connectors that a test makes up. No scheduler, Kafka or catalog."""

from __future__ import annotations

import base64
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx

from floe.status.record import StatusRecord
from floe.status.record_codec import dump, key_of
from stack.exceptions import StartFailed
from stack.progress import wait_until
from stack.services.airflow import PASSWORDS
from stack.settings import LOOPBACK, free_port
from tests.support.connectors import JSON, connector_keys
from tests.support.repository import ROOT

USERS = {"admin": "admin", "op": "op", "user": "user", "viewer": "viewer", "other": "admin", "stranger": "admin"}
"""Roles by user; of ``other`` and ``stranger`` see :mod:`tests.support.api.auth`."""

REAL = "orders"
READY_WITHIN = 300.0


def seed(name: str, record: StatusRecord | str | None, **more: Any) -> dict[str, Any]:
    """Return what the database is to have of a connector. ``record``: what is kept of it, a text as it is."""
    text = dump(record) if isinstance(record, StatusRecord) else record
    kept = {} if text is None else {"key": key_of(name), "value": text}
    return {"name": name, "now": datetime.now(UTC).isoformat(), **kept, **more}


class ApiServer:
    """The server; ``url`` is its address.

    ``python``: of an environment with more packages. ``files``: connectors that are real DAGs, with keys of their own.
    ``more``: variables of its environment, such as those of another database than SQLite in the folder.
    """

    def __init__(
        self,
        folder: Path,
        connectors: Sequence[Mapping[str, Any]],
        *,
        python: str = sys.executable,
        files: Mapping[str, Mapping[str, Any]] = MappingProxyType({REAL: {}}),
        users: Sequence[str] = tuple(USERS),
        **more: str,
    ) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://{LOOPBACK}:{self.port}"
        self.passwords = {user: secrets.token_urlsafe(12) for user in users}
        self._log = folder / "server.log"
        (folder / PASSWORDS).write_text(json.dumps(self.passwords))
        seeds = folder / "seed.json"
        seeds.write_text(json.dumps(list(connectors)))
        filed = folder / "connectors"
        filed.mkdir()
        for name, keys in files.items():
            (filed / f"{name}.json").write_text(json.dumps(connector_keys(name, name, folder, **JSON, **keys)))
        environment = {**os.environ, **self._settings(folder, filed), **more}
        with self._log.open("wb") as log:
            command = [python, "-m", "tests.support.api.serve", str(seeds), str(self.port)]
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        if not wait_until(self._is_up, READY_WITHIN, pause=0.2) or self.process.poll() is not None:
            self.stop()
            message = f"the API server did not answer:\n{self._log.read_text(errors='replace')[-3000:]}"
            raise StartFailed(message)

    def _settings(self, folder: Path, connectors: Path) -> dict[str, str]:
        core = {
            "PLUGINS_FOLDER": str(ROOT / "plugins"),
            "DAGS_FOLDER": str(ROOT / "dags"),
            "LOAD_EXAMPLES": "False",
            "AUTH_MANAGER": "tests.support.api.auth.GrantsByDag",
            "SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{user}:{role}" for user, role in USERS.items()),
            "FERNET_KEY": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
        }
        return {
            "AIRFLOW_HOME": str(folder),
            **{f"AIRFLOW__CORE__{name}": value for name, value in core.items()},
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{folder}/airflow.db",
            "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_urlsafe(48),
            "AIRFLOW__API__BASE_URL": self.url,
            "FLOE_CONNECTORS_DIR": str(connectors),
            "FLOE_CACHE_DIR": "",
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "plugins", ROOT))),
            "NO_PROXY": LOOPBACK,
            "no_proxy": LOOPBACK,
        }

    def _is_up(self) -> bool:
        """Whether there is nothing to wait for: it answers, or has ended."""
        if self.process.poll() is not None:
            return True
        try:
            return httpx.get(f"{self.url}/api/v2/version", timeout=5, trust_env=False).is_success
        except httpx.TransportError:
            return False

    def token(self, user: str) -> str:
        """Return a token of the user's."""
        body = {"username": user, "password": self.passwords[user]}
        answer = httpx.post(f"{self.url}/auth/token", json=body, timeout=30, trust_env=False)
        return str(answer.raise_for_status().json()["access_token"])

    def client(self, user: str | None) -> httpx.Client:
        """Return a client with the user's token, or one without credentials."""
        headers = {} if user is None else {"Authorization": f"Bearer {self.token(user)}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False)

    def stop(self) -> None:
        """End the server."""
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(15)
