"""What differs between two stacks: ports, folders and the worker file, each from one environment variable.

A stack remembers those that it was started with, in its state folder: commands that are not given them use the same.
"""

from __future__ import annotations

import json
import random
import shutil
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stack.exceptions import PortTaken, StackError

REPOSITORY = Path(__file__).resolve().parent.parent
LOOPBACK = "127.0.0.1"

STATE = "FLOE_STATE"
JARS = "FLOE_JARS"
DAGS = "FLOE_DAGS_FOLDER"
PLUGINS = "FLOE_PLUGINS_FOLDER"
CONNECTORS = "FLOE_CONNECTORS_DIR"
WORKER = "FLOE_WORKER_CONFIG"
KAFKA_PORT = "KAFKA_PORT"
KAFKA_PORT_DEFAULT = 9092
CONTROLLER_PORT = "KAFKA_CONTROLLER_PORT"
CONTROLLER_PORT_DEFAULT = 9093
AIRFLOW_PORT = "AIRFLOW_PORT"
AIRFLOW_PORT_DEFAULT = 8080
REGISTRY = "REGISTRY"
REGISTRY_PORT = "SCHEMA_REGISTRY_PORT"
REGISTRY_PORT_DEFAULT = 8081
STORE = "STORE"
EMPTY = "EMPTY"
S3 = "s3"
S3_PORT = "S3_PORT"
S3_PORT_DEFAULT = 9000

GIVEN = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""The first and the last of the ports that the system gives to outgoing connections."""

_RECORD = "settings.json"
_PORTS = range(10_000, 65_536)
_TRIES = 100
_LEAST_FREE = 500 * 10**6


@dataclass(frozen=True)
class Settings:
    """Ports and folders of one stack, and whether it has a schema registry, an S3 store, and nothing of the demo."""

    state: Path
    jars: Path
    dags: Path
    plugins: Path
    kafka_port: int
    controller_port: int
    airflow_port: int
    registry_port: int
    registry: bool
    s3_port: int
    on_s3: bool
    empty: bool = False
    connectors: Path | None = None
    worker: Path = REPOSITORY / "deploy" / "connect-worker.properties"

    @classmethod
    def read(cls, environ: Mapping[str, str], *, is_running: bool = False) -> Settings:
        """Read the settings from environment variables, then from what the stack in the folder remembers.

        ``is_running``: what it remembers goes first, as it is what runs. Raises StackError naming the variable that is wrong.
        """
        state = _folder(environ, STATE, REPOSITORY / ".floe")
        given = {name: text for name, text in environ.items() if text.strip()}
        known = _remembered(state / _RECORD)
        environ = given | known if is_running else known | given
        return cls(
            state=state,
            jars=_folder(environ, JARS, REPOSITORY / ".floe" / "jars"),  # of all stacks
            dags=_folder(environ, DAGS, REPOSITORY / "dags"),
            plugins=_folder(environ, PLUGINS, REPOSITORY / "plugins"),
            kafka_port=_port(environ, KAFKA_PORT, KAFKA_PORT_DEFAULT),
            controller_port=_port(environ, CONTROLLER_PORT, CONTROLLER_PORT_DEFAULT),
            airflow_port=_port(environ, AIRFLOW_PORT, AIRFLOW_PORT_DEFAULT),
            registry_port=_port(environ, REGISTRY_PORT, REGISTRY_PORT_DEFAULT),
            registry=_flag(environ, REGISTRY),
            s3_port=_port(environ, S3_PORT, S3_PORT_DEFAULT),
            on_s3=_is_on_s3(environ),
            empty=_flag(environ, EMPTY),
            connectors=_folder(environ, CONNECTORS, state) if environ.get(CONNECTORS) else None,
            worker=_folder(environ, WORKER, cls.worker),
        )

    def remember(self) -> None:
        """Write ports and folders into the state folder, for the commands that follow."""
        self.state.mkdir(parents=True, exist_ok=True)
        partial = self.state / f"{_RECORD}.partial"
        partial.write_text(
            json.dumps({name: str(value) for name, value in self.variables.items() if value is not None})
        )
        partial.replace(self.state / _RECORD)

    def forget(self) -> None:
        """Remove what the stack remembers."""
        (self.state / _RECORD).unlink(missing_ok=True)

    @property
    def bootstrap(self) -> str:
        """The broker's address."""
        return f"{LOOPBACK}:{self.kafka_port}"

    @property
    def ports(self) -> dict[str, int]:
        """The port of each service, by the variable that changes it."""
        return {
            KAFKA_PORT: self.kafka_port,
            REGISTRY_PORT: self.registry_port,
            S3_PORT: self.s3_port,
            AIRFLOW_PORT: self.airflow_port,
        }

    @property
    def variables(self) -> dict[str, object]:
        """What is remembered, by the variable that changes it."""
        return {
            **self.ports,
            CONTROLLER_PORT: self.controller_port,
            DAGS: self.dags,
            PLUGINS: self.plugins,
            CONNECTORS: self.connectors,
            WORKER: self.worker,
        }

    @property
    def catalog_uri(self) -> str:
        """The SQLite database of the demo catalog, as SQLAlchemy writes it."""
        return f"sqlite:///{self.state / 'catalog.db'}"

    @property
    def warehouse(self) -> Path:
        """The folder that holds the demo tables, unless they are on S3."""
        return self.state / "warehouse"


def require_free(port: int, variable: str) -> None:
    """Raise PortTaken, naming the variable that changes it, if another process listens on the port."""
    try:
        _bind(port)
    except OSError as error:
        message = f"port {port} is in use ({error.strerror}): stop what listens there, or set {variable} to a free port"
        raise PortTaken(message) from error


def require_room(folder: Path) -> None:
    """Raise StackError if the disk of a folder is nearly full: what fails later says so only in its own words."""
    free = shutil.disk_usage(next(one for one in (folder, *folder.parents) if one.exists())).free
    if free < _LEAST_FREE:
        message = (
            f"the disk of {folder} has {free // 10**6} MB free, and the stack needs {_LEAST_FREE // 10**6} MB at least (2 GB "
            f"with its first downloads): make room, or name a folder on another disk by {STATE}"
        )
        raise StackError(message)


def free_port() -> int:
    """Return a port that is free now, and that the system does not use for outgoing connections, if there are such.

    Airflow binds its port a quarter of a minute after it was chosen, and a connection may use it by then.
    """
    first, last = map(int, GIVEN.read_text().split()) if GIVEN.exists() else (32_768, 65_535)
    never_given = [port for port in _PORTS if not first <= port <= last]
    for port in random.sample(never_given or _PORTS, min(_TRIES, len(never_given) or _TRIES)):
        with suppress(OSError):
            _bind(port)
            return port
    message = f"{_TRIES} ports from {_PORTS.start} up were tried and are in use: stop what listens there"
    raise PortTaken(message)


def _bind(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((LOOPBACK, port))


def _remembered(file: Path) -> dict[str, str]:
    try:
        found = json.loads(file.read_text())
        return {str(name): str(value) for name, value in found.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        message = (
            f"{file}, the ports and folders of this stack, cannot be read ({error}): remove it, and name them again"
        )
        raise StackError(message) from error


def _folder(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    """Return the folder, or file, that a variable names."""
    return Path((environ.get(variable) or "").strip() or default).expanduser().absolute()


def _port(environ: Mapping[str, str], variable: str, default: int) -> int:
    text = environ.get(variable) or str(default)
    if not text.isdecimal() or not 0 < int(text) < 65536:
        message = f"{variable}={text!r} is not a port: set it to a number between 1 and 65535"
        raise StackError(message)
    return int(text)


def _flag(environ: Mapping[str, str], variable: str) -> bool:
    text = environ.get(variable) or "0"
    if text not in ("0", "1"):
        message = f"{variable}={text!r} is neither 0 nor 1: set it to 1, or leave it out"
        raise StackError(message)
    return text == "1"


def _is_on_s3(environ: Mapping[str, str]) -> bool:
    text = environ.get(STORE) or ""
    if text not in ("", S3):
        message = f"{STORE}={text!r} is not a store: set it to {S3}, or leave it out for tables in a folder"
        raise StackError(message)
    return text == S3
