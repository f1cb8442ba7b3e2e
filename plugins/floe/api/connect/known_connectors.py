"""All connectors that the API server knows: those of files, read again when one changes, and those made by REST."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from sqlalchemy.orm import Session

from floe.airflow_settings import connectors_of_airflow
from floe.api.connect.answers import ConnectError
from floe.api.connect.connector_rows import Row, connector_rows
from floe.config import ConfigError, Connector, ConnectorFile, connectors_folder, load_connectors
from floe.config.document import MAX_BYTES, parse_document, unwrap
from floe.config.exceptions import MalformedFile
from floe.config.properties import flatten
from floe.config.providers.operator_settings import OperatorSettings
from floe.config.stored.budget import MAX_CONNECTORS, read_within
from floe.config.stored.connector_file import groups_of, stored_file
from floe.config.stored.operator_lists import OperatorLists
from floe.config.stored.stored_connector import StoredConnector

MAX_AGE: Final = 30.0
"""Seconds after which files are read again although none changed: what they refer to may have."""


@dataclass(frozen=True)
class KnownConnector:
    """``row``: the Variable of a connector that REST made; None for one of a file."""

    file: ConnectorFile
    row: Row | None = None

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def connector(self) -> Connector | None:
        return self.file.connector

    @property
    def stored(self) -> StoredConnector | None:
        """What is stored of a connector that REST made, without its secrets; None for a file, and if it cannot be read."""
        if self.row is None:
            return None
        try:
            return StoredConnector.from_text(self.name, self.row.text)
        except ConfigError:
            return None

    @property
    def config(self) -> dict[str, str]:
        """The keys that were given, with the name; the name alone where the file cannot be read."""
        if self.row is not None:
            return {**(self.stored.config if self.stored else {}), "name": self.name}
        return {**_keys_in(self.file.path), "name": self.name}


class Folder:
    """The connector files, as they are now. Several threads may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version: object = None
        self._at = 0.0
        self._files: list[ConnectorFile] = []

    def files(self) -> list[ConnectorFile]:
        """Return all connector files; none where there is no folder.

        Raises ConnectError (500) for one that cannot be read: names and groups that files have would be free.
        """
        with self._lock:
            folder = connectors_folder(connectors_of_airflow())
            version = _version_of(folder)
            if version != self._version or time.monotonic() - self._at > MAX_AGE:
                try:
                    self._files = load_connectors(folder)
                except ConfigError as error:
                    if folder.exists():
                        raise ConnectError(500, f"{error}. Nothing was changed.") from error
                    self._files = []
                self._version, self._at = version, time.monotonic()
            return list(self._files)


FOLDER: Final = Folder()


def known_connectors(session: Session, name: str | None = None) -> dict[str, KnownConnector]:
    """Return all connectors by name, or the one named; a file's connector counts over one of the same name made by REST."""
    files = FOLDER.files()
    groups = frozenset(groups_of(files))
    found = {file.name: KnownConnector(file) for file in files if name in (None, file.name)}
    if OperatorLists.of(os.environ).is_enabled and not found.keys() & {name}:
        taken, version = {file.name for file in files}, OperatorSettings.present().version
        rows = {other: row for other, row in connector_rows(session).items() if other not in taken}
        # all of them are read for one, too: whether it is left out depends on the others
        stored = read_within(
            {other: row.text for other, row in rows.items()}, lambda other, text: _stored(other, text, groups, version)
        )
        found |= {other: KnownConnector(file, rows[other]) for other, file in stored.items() if name in (None, other)}
    return dict(sorted(found.items()))


@lru_cache(maxsize=2 * MAX_CONNECTORS)  # fewer would be parsed again for each call
def _stored(name: str, text: str, groups: frozenset[tuple[str, str]], _: object) -> ConnectorFile:
    return stored_file(name, text, os.environ, groups)


def _version_of(folder: Path) -> object:
    try:
        with os.scandir(folder) as entries:
            stats = [(one.name, one.stat()) for one in entries if one.name.endswith(".json")]
    except OSError:
        return (str(folder), None)
    return (str(folder), tuple(sorted((name, stat.st_mtime_ns, stat.st_size, stat.st_ino) for name, stat in stats)))


def _keys_in(path: Path) -> Mapping[str, str]:
    try:
        with path.open("rb") as stream:
            document = parse_document(stream.read(MAX_BYTES + 1))
    except (OSError, MalformedFile):
        return {}
    return flatten(unwrap(document)[0])[0]
