"""What differs between two stacks: ports and folders, each from one environment variable."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stack.exceptions import PortTaken, StackError

REPOSITORY = Path(__file__).resolve().parent.parent
LOOPBACK = "127.0.0.1"

STATE = "FLOE_STATE"
JARS = "FLOE_JARS"
DAGS = "FLOE_DAGS_FOLDER"
PLUGINS = "FLOE_PLUGINS_FOLDER"
KAFKA_PORT = "KAFKA_PORT"
KAFKA_PORT_DEFAULT = 9092
CONTROLLER_PORT = "KAFKA_CONTROLLER_PORT"
CONTROLLER_PORT_DEFAULT = 9093
AIRFLOW_PORT = "AIRFLOW_PORT"
AIRFLOW_PORT_DEFAULT = 8080


@dataclass(frozen=True)
class Settings:
    """Ports and folders of one stack."""

    state: Path
    jars: Path
    dags: Path
    plugins: Path
    kafka_port: int
    controller_port: int
    airflow_port: int

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Settings:
        """Read the settings from environment variables; raises StackError naming the variable that is wrong."""
        state = _folder(environ, STATE, REPOSITORY / ".floe")
        return cls(
            state=state,
            jars=_folder(environ, JARS, state / "jars"),
            dags=_folder(environ, DAGS, REPOSITORY / "dags"),
            plugins=_folder(environ, PLUGINS, REPOSITORY / "plugins"),
            kafka_port=_port(environ, KAFKA_PORT, KAFKA_PORT_DEFAULT),
            controller_port=_port(environ, CONTROLLER_PORT, CONTROLLER_PORT_DEFAULT),
            airflow_port=_port(environ, AIRFLOW_PORT, AIRFLOW_PORT_DEFAULT),
        )

    @property
    def bootstrap(self) -> str:
        """The broker's address."""
        return f"{LOOPBACK}:{self.kafka_port}"

    @property
    def catalog_uri(self) -> str:
        """The SQLite database of the demo catalog, as SQLAlchemy writes it."""
        return f"sqlite:///{self.state / 'catalog.db'}"

    @property
    def warehouse(self) -> Path:
        """The folder that holds the demo tables."""
        return self.state / "warehouse"


def require_free(port: int, variable: str) -> None:
    """Raise PortTaken, naming the variable that changes it, if somebody listens on the port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            message = (
                f"port {port} is in use ({error.strerror}): stop what listens there, or set {variable} to a free port"
            )
            raise PortTaken(message) from error


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _folder(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    return Path(environ.get(variable) or default).expanduser().absolute()


def _port(environ: Mapping[str, str], variable: str, default: int) -> int:
    text = environ.get(variable) or str(default)
    if not text.isdecimal() or not 0 < int(text) < 65536:
        message = f"{variable}={text!r} is not a port: set it to a number between 1 and 65535"
        raise StackError(message)
    return int(text)
