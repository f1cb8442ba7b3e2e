"""Airflow on one machine: `airflow standalone` on SQLite with the LocalExecutor, in a session of its own."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from stack import processes
from stack.exceptions import PortTaken, StartFailed, Unsuitable
from stack.progress import wait_until
from stack.services.recorded_service import RecordedService
from stack.services.rest import Rest
from stack.settings import AIRFLOW_PORT, LOOPBACK, REPOSITORY, require_free

USER = "admin"
SHARED = REPOSITORY / "deploy" / "airflow.env"
PASSWORDS = "simple_auth_manager_passwords.json.generated"
CACHE = REPOSITORY / ".floe" / "cache"
READY_WITHIN = 600.0
"""Seconds: on a machine that is busy with other things its parts import for minutes; if they end, that shows at once."""
STOPPED_WITHIN = 1.5
"""Seconds after SIGINT, and again after SIGTERM: its API server waits for open connections, and a triggerer may miss one."""
_IN_USE = "address already in use"
_PARTS = {"scheduler": "scheduler", "dag_processor": "DAG processor", "triggerer": "triggerer"}
_COMPONENTS = 3  # of scheduler, DAG processor, API server and triggerer; seen together, they have all been started

# The log servers of scheduler and triggerer listen on all interfaces, and they are not needed where the API server
# reads the same folder. `standalone` calls `airflow` by name: this one comes first on its PATH.
_WRAPPER = """#!/bin/sh
case "$1" in scheduler|triggerer) set -- "$@" --skip-serve-logs ;; esac
exec {airflow} "$@"
"""

# These variables of the caller's environment would change what runs here.
_FOREIGN = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONHOME", "SPARK_HOME", "SPARK_CONF_DIR")


class Airflow(RecordedService):
    """An Airflow whose home, log and record are in `folder`."""

    name: ClassVar[str] = "airflow"

    def __init__(
        self,
        folder: Path,
        port: int,
        dags: Path,
        plugins: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(folder, port)
        self.url = f"http://{self.address}"
        self.rest = Rest(self.url, USER, self.password)
        self._dags = dags
        self._plugins = plugins
        self._environment = dict(environment or {})

    def password(self) -> str:
        """Return the password that Airflow generated for its user."""
        file = self.folder / PASSWORDS
        if not file.exists():
            message = f"{file} is not there: Airflow has not started; see {self.log}"
            raise StartFailed(message)
        return str(json.loads(file.read_text())[USER])

    def start(self) -> None:
        """Start Airflow and wait until its API answers; harmless if it runs. Raises PortTaken, StartFailed."""
        if self.running:
            return
        require_free(self.port, AIRFLOW_PORT)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        self._write_wrapper()
        command = [str(self._bin / "airflow"), "standalone"]
        said_before = self.log.stat().st_size if self.log.exists() else 0
        process = processes.start_recorded(command, self.environment(), self.log, self.folder, self.record)
        try:
            self._wait_until_ready(process, said_before)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End Airflow by SIGINT and wait for all its processes; what does not end is killed by pid. Harmless if down."""
        process = self.process
        if process is not None:
            processes.stop(process, signal.SIGINT, STOPPED_WITHIN, STOPPED_WITHIN)
            self.record.unlink(missing_ok=True)

    def dead_parts(self) -> list[str]:
        """Say which of its parts are not alive, though it runs: its processes go one by one."""
        try:
            health = self.rest.health()
            found = [(part, health[part]["status"], health[part][f"latest_{part}_heartbeat"]) for part in _PARTS]
        except (OSError, ValueError, LookupError, TypeError) as error:
            return [f"Airflow's API does not say whether its scheduler is alive: {error}"]
        return [
            f"Airflow's {_PARTS[part]} is not alive, its last heartbeat: {heartbeat or 'none'}"
            for part, status, heartbeat in found
            if status != "healthy"
        ]

    def environment(self) -> dict[str, str]:
        """Return the environment for Airflow and for its command line."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in _FOREIGN and not name.startswith(("AIRFLOW_", "_AIRFLOW"))
        }
        bypass = ",".join(filter(None, (os.environ.get("NO_PROXY"), LOOPBACK, "localhost")))
        return {
            **kept,
            "PATH": os.pathsep.join((str(self._bin), str(Path(sys.executable).parent), kept.get("PATH", os.defpath))),
            "NO_PROXY": bypass,
            "no_proxy": bypass,
            **_shared(),
            "AIRFLOW_HOME": str(self.folder),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self._dags),
            "AIRFLOW__CORE__PLUGINS_FOLDER": str(self._plugins),
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__API__HOST": LOOPBACK,
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__API_AUTH__JWT_SECRET": self._secret("jwt.secret"),
            "FLOE_SECRET_KEY": kept.get("FLOE_SECRET_KEY") or self._secret("floe.secret"),
            # A process title must not overwrite the environment in /proc: it holds the mark of `processes`.
            "SPT_NOENV": "1",
            # Spark's driver and its UI listen on this address, and its workers are this Python.
            "SPARK_LOCAL_IP": LOOPBACK,
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            # Of the repository, not of one stack: its content takes seconds to create, and the next stack can use it too.
            "FLOE_CACHE_DIR": kept.get("FLOE_CACHE_DIR", str(CACHE)),
            **self._environment,
        }

    @property
    def _bin(self) -> Path:
        return self.folder / "bin"

    def _secret(self, name: str) -> str:
        """Return a secret of this folder, generated once."""
        file = self.folder / name
        if not file.exists() or not file.stat().st_size:
            file.touch(mode=0o600)
            file.write_text(secrets.token_urlsafe(64))
        return file.read_text()

    def _write_wrapper(self) -> None:
        real = Path(sys.executable).parent / "airflow"
        if not real.exists():
            message = f"{real} is not there: run `make setup`, and run the stack by .venv/bin/python"
            raise Unsuitable(message)
        self._bin.mkdir(exist_ok=True)
        wrapper = self._bin / "airflow"
        wrapper.write_text(_WRAPPER.format(airflow=shlex.quote(str(real))))
        wrapper.chmod(0o755)

    def _wait_until_ready(self, process: processes.Process, said_before: int) -> None:
        """Wait; ``said_before``: bytes of the log that belong to earlier starts."""
        most = 1

        def is_ready() -> bool:
            """Ready or failed: `standalone` itself keeps running when all that it started has ended."""
            nonlocal most
            now = len(processes.family(process))
            most = max(most, now)
            return now == 0 or (now == 1 and most > _COMPONENTS) or lost_its_port() or self.rest.answers()

        def lost_its_port() -> bool:
            """The API server that finds its port in use ends, and the other components keep running."""
            with self.log.open(errors="replace") as log:
                log.seek(said_before)
                return _IN_USE in log.read()

        in_time = wait_until(is_ready, READY_WITHIN, pause=0.2)
        if in_time and self.rest.answers():
            return
        if lost_its_port():
            message = f"port {self.port} was taken while Airflow started: set {AIRFLOW_PORT} to another, or start again"
            raise PortTaken(message)
        tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])
        what = "ended" if in_time else f"did not answer within {READY_WITHIN:.0f} s"
        message = f"Airflow {what}; the end of {self.log}:\n{tail}"
        raise StartFailed(message)


def _shared() -> dict[str, str]:
    """Return the settings that docker-compose.yaml reads too."""
    lines = (line.strip() for line in SHARED.read_text().splitlines())
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
