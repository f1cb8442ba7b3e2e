"""The folder of connector files. A broken file never takes the others down."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from floe.config.connector import Connector
from floe.config.document import MOST_BYTES, claimed_name, parse_document
from floe.config.exceptions import ConfigError, MalformedFile
from floe.config.names import legal_name
from floe.config.parser import parse_connector

FOLDER_VARIABLE = "FLOE_CONNECTORS_DIR"


@dataclass(frozen=True)
class ConnectorFile:
    """One file: its connector, or the error that says why there is none.

    ``name`` is a legal dag_id that no other file of the folder has: the connector's, the one that a broken file gives
    itself, or one made of the file's name.
    """

    path: Path
    name: str
    connector: Connector | None
    error: ConfigError | None


def connectors_folder(default: Path) -> Path:
    """Choose the folder: ``FLOE_CONNECTORS_DIR`` if it is set, else ``default``."""
    named = os.environ.get(FOLDER_VARIABLE, "").strip()
    return Path(named).expanduser() if named else default


def load_connectors(folder: Path | None = None) -> list[ConnectorFile]:
    """Read every ``*.json`` of ``folder``, sorted by file name, dotfiles excepted.

    Without ``folder``: ``FLOE_CONNECTORS_DIR``, else the folder ``dags/connectors`` beside ``plugins``.

    :raises ConfigError: there is no such folder.
    """
    if folder is None:
        folder = connectors_folder(Path(__file__).resolve().parents[3] / "dags" / "connectors")
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".json" and not path.name.startswith("."))
    except OSError as error:
        msg = f"the folder of connectors cannot be read ({error.strerror}): create it or set {FOLDER_VARIABLE}"
        raise ConfigError(msg).located(folder) from error
    return settle_names([read_file(path) for path in paths])


def load_connector(path: Path) -> Connector:
    """Read one connector file.

    :raises ConfigError: with the file's name and all problems found.
    """
    file = read_file(path)
    if file.connector is None:
        raise file.error or ConfigError("no connector")
    return file.connector


def read_file(path: Path) -> ConnectorFile:
    """Read one file; what is wrong with it is returned, not raised."""
    name = legal_name(path.stem)
    try:
        document = parse_document(_content(path))
        name = claimed_name(document) or name
        connector = parse_connector(document, default_name=path.stem)
    except ConfigError as error:
        return ConnectorFile(path, name, None, error.located(path))
    return ConnectorFile(path, connector.name, connector, None)


def settle_names(files: list[ConnectorFile]) -> list[ConnectorFile]:
    """Break connectors that share a name, or a group on the same brokers, and give broken files names of their own."""
    files = _break_shared(files, lambda connector: connector.name, "the name")
    files = _break_shared(files, lambda connector: (connector.kafka_conn_id, connector.group_id), "the group")
    taken = {file.name for file in files if file.connector}
    return [file if file.connector else replace(file, name=_free_name(file.name, taken)) for file in files]


def _break_shared(
    files: list[ConnectorFile], identity: Callable[[Connector], object], what: str
) -> list[ConnectorFile]:
    owners: dict[object, list[ConnectorFile]] = {}
    for file in files:
        if file.connector:
            owners.setdefault(identity(file.connector), []).append(file)
    shared = {file.path: sharing for sharing in owners.values() if len(sharing) > 1 for file in sharing}
    return [_broken(file, shared[file.path], what) if file.path in shared else file for file in files]


def _broken(file: ConnectorFile, sharing: Iterable[ConnectorFile], what: str) -> ConnectorFile:
    connector = file.connector
    value = connector.name if connector and what == "the name" else connector and connector.group_id
    others = " and ".join(str(other.path) for other in sharing)
    msg = f"{what} {value!r} is used by several connector files, {others}: give each its own"
    return replace(file, connector=None, error=ConfigError(msg).located(file.path))


def _free_name(name: str, taken: set[str]) -> str:
    free, number = name, 2
    while free in taken:
        free, number = f"{name[:230]}-{number}", number + 1
    taken.add(free)
    return free


def _content(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            msg = "this is no file: a connector is a JSON file"
            raise MalformedFile(msg)
        with path.open("rb") as stream:
            return stream.read(MOST_BYTES + 1)
    except OSError as error:
        msg = f"the file cannot be read: {error.strerror or error}"
        raise MalformedFile(msg) from error
