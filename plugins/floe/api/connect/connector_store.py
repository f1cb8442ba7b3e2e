"""The connectors that the API server knows: those of files, read again when one changes, and those made by REST."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from airflow.models.crypto import get_fernet
from airflow.models.variable import Variable
from cryptography.fernet import InvalidToken
from sqlalchemy import Table, delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from floe.airflow_settings import connectors_of_airflow
from floe.api.connect.http import ConnectError
from floe.config import ConfigError, Connector, ConnectorFile, connectors_folder, load_connectors
from floe.config.document import MAX_BYTES, parse_document, unwrap
from floe.config.exceptions import MalformedFile
from floe.config.properties import flatten
from floe.config.providers.allow_list import OperatorSettings
from floe.config.stored.budget import MAX_CONNECTORS, read_within
from floe.config.stored.operator_lists import OperatorLists
from floe.config.stored.stored_connector import CONNECTOR, SECRETS, STATE, StoredConnector, groups_of, stored_file

# All connectors that the API server knows: those of files, read again when one changes, and those made by REST.


MAX_AGE: Final = 30.0
"""Seconds after which files are read again although none changed: what they refer to may have."""


@dataclass(frozen=True)
class KnownConnector:
    """``row``: the Variable of a connector that REST made; None for one of a file."""

    file: ConnectorFile
    row: ConnectorRow | None = None

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


# The Variables of connectors in Airflow's database. A change compares and sets: of two at once, one gets a conflict.
#
# Rows, not models: a model hands its value to Airflow's masker of secrets, which keeps it for ever.


_TABLE: Table = Variable.__table__
_DESCRIPTION = "of a connector that floe's REST API made: change it there"


@dataclass(frozen=True)
class ConnectorRow:
    """The text of a Variable, and how it is in the database, by which a change recognises it."""

    text: str
    stored: str


def connector_rows(session: Session, name: str | None = None) -> dict[str, ConnectorRow]:
    """Return the rows of all connectors, or of the one named, by name; one that cannot be decrypted has an empty text."""
    return {key.removeprefix(CONNECTOR): row for key, row in _rows(session, CONNECTOR, name).items()}


def secrets_text(session: Session, name: str) -> str:
    """Return the text of a connector's secrets."""
    row = _rows(session, SECRETS, name).get(SECRETS + name)
    return "" if row is None else row.text


def marks(session: Session, name: str | None = None) -> dict[str, ConnectorRow]:
    """Return the states that were set by REST, by connector."""
    return {key.removeprefix(STATE): row for key, row in _rows(session, STATE, name).items()}


def set_mark(session: Session, name: str, text: str | None) -> None:
    """Keep a state, or none. Raises ConnectError where another request does so at the same time."""
    session.execute(delete(_TABLE).where(_TABLE.c.key == STATE + name))
    if text is not None:
        try:
            session.execute(insert(_TABLE).values(**_values(STATE + name, text)))
        except IntegrityError as error:
            session.rollback()
            raise _conflict(name) from error


def change_mark(session: Session, name: str, before: ConnectorRow, text: str | None) -> bool:
    """Keep another state, or none, if it is still as it was read; return whether it was."""
    same = (_TABLE.c.key == STATE + name, _TABLE.c.val == before.stored)
    if text is None:
        done: Any = session.execute(delete(_TABLE).where(*same))
    else:
        done = session.execute(update(_TABLE).where(*same).values(**_values(STATE + name, text)))
    return bool(done.rowcount == 1)


def create(session: Session, stored: StoredConnector) -> None:
    """Add a connector. Raises ConnectError where there is one."""
    try:
        session.execute(insert(_TABLE).values(**_values(CONNECTOR + stored.name, stored.to_text())))
    except IntegrityError as error:
        session.rollback()
        msg = f"Connector {stored.name} already exists"
        raise ConnectError(409, msg) from error
    _set_secrets(session, stored.name, stored.secrets)


def replace(session: Session, stored: StoredConnector, before: ConnectorRow) -> None:
    """Change a connector, if it is still as it was read. Raises ConnectError where it is not."""
    values = _values(CONNECTOR + stored.name, stored.to_text())
    done = session.execute(update(_TABLE).where(*_same(stored.name, before)).values(**values))
    _require_one(session, done, stored.name)
    _set_secrets(session, stored.name, stored.secrets)


def hold(session: Session, name: str, before: ConnectorRow) -> None:
    """Lock a connector until the end of the transaction, if it is still as it was read. Raises ConnectError."""
    same = update(_TABLE).where(*_same(name, before)).values(val=before.stored)
    _require_one(session, session.execute(same), name)


def remove(session: Session, name: str) -> None:
    """Remove a connector with its secrets and its state."""
    session.execute(delete(_TABLE).where(_TABLE.c.key.in_([CONNECTOR + name, SECRETS + name, STATE + name])))


def _same(name: str, before: ConnectorRow) -> tuple[Any, Any]:
    return _TABLE.c.key == CONNECTOR + name, _TABLE.c.val == before.stored


def _require_one(session: Session, done: Any, name: str) -> None:
    if done.rowcount != 1:
        session.rollback()
        raise _conflict(name)


def _conflict(name: str) -> ConnectError:
    msg = (
        f"Cannot complete request because of a conflicting operation: the connector {name} was changed at the same "
        "time. Nothing was changed by this request; send it again."
    )
    return ConnectError(409, msg)


def _set_secrets(session: Session, name: str, secrets: Mapping[str, str]) -> None:
    key = SECRETS + name
    session.execute(delete(_TABLE).where(_TABLE.c.key == key))
    if secrets:
        session.execute(insert(_TABLE).values(**_values(key, json.dumps(dict(secrets)))))


def _values(key: str, text: str) -> dict[str, Any]:
    fernet = get_fernet()
    stored = fernet.encrypt(text.encode()).decode()
    return {"key": key, "val": stored, "is_encrypted": fernet.is_encrypted, "description": _DESCRIPTION}


def _rows(session: Session, prefix: str, name: str | None) -> dict[str, ConnectorRow]:
    columns = (_TABLE.c.key, _TABLE.c.val, _TABLE.c.is_encrypted)
    query = select(*columns).order_by(_TABLE.c.key)
    chosen = _TABLE.c.key.startswith(prefix, autoescape=True) if name is None else _TABLE.c.key == prefix + name
    return {key: _row(val, bool(encrypted)) for key, val, encrypted in session.execute(query.where(chosen))}


def _row(stored: str, is_encrypted: bool) -> ConnectorRow:
    try:
        text = get_fernet().decrypt(stored.encode()).decode() if is_encrypted else stored
    except (InvalidToken, UnicodeError):
        text = ""
    return ConnectorRow(text, stored)
