"""The connectors that a command names: files, folders, names in the folder of connectors, or made by the REST API."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from floe.cli.airflow_lookup import variable
from floe.cli.output import NotLookedUp, UsageError
from floe.config.check import read_connectors
from floe.config.connector_files import ConnectorFile, connectors_folder
from floe.config.exceptions import ConfigError
from floe.config.parser import parse_connector
from floe.config.providers.allow_list import OperatorSettings

VARIABLE: Final = "floe.connector."
"""Before the name of a connector, in the name of the Airflow variable that contains it."""

_MAX_NAMED = 20


def find_connectors(names: Sequence[str], folder: Path | None) -> list[ConnectorFile]:
    """Return the files of connectors, broken ones too; all of the folder without names. Raises UsageError."""
    if not names:
        return _of_folder(folder)
    found: list[ConnectorFile] = []
    for name in names:
        if Path(name).exists() or name.endswith(".json") or "/" in name:
            found += _read(Path(name))
        else:
            found.append(_by_name(name, folder))
    return found


def folder_of(folder: Path | None) -> Path:
    """Return the folder of connectors: as given, FLOE_CONNECTORS_DIR, or that of Airflow's DAGs."""
    return folder if folder is not None else connectors_folder()


def _of_folder(folder: Path | None) -> list[ConnectorFile]:
    there = folder_of(folder)
    if not there.is_dir():
        msg = f"there is no folder of connectors {str(there)!r}: name connectors, or a folder by --connectors"
        raise UsageError(msg)
    return _read(there)


def _read(path: Path) -> list[ConnectorFile]:
    try:
        return read_connectors([path])
    except ConfigError as error:
        raise UsageError(str(error)) from error


def _by_name(name: str, folder: Path | None) -> ConnectorFile:
    there = folder_of(folder)
    files = _read(there) if there.is_dir() else []
    found = next((file for file in files if file.name == name), None) or _of_airflow(name)
    if found is None:
        names = ", ".join(file.name for file in files[:_MAX_NAMED]) or "none"
        msg = f"there is no connector {name[:200]!r} in {there} (there: {names}): name a file, or a folder by --connectors"
        raise UsageError(msg)
    return found


def _of_airflow(name: str) -> ConnectorFile | None:
    """Return a connector that was made by the REST API, from the Airflow variable that contains it."""
    try:
        text = variable(VARIABLE + name)
    except NotLookedUp:
        return None
    if text is None:
        return None
    path = Path(f"Airflow variable {VARIABLE}{name}")
    try:
        document = json.loads(text)
        config = document["config"] if isinstance(document, dict) else None
        if not isinstance(config, dict):
            raise TypeError
    except (ValueError, TypeError, KeyError, RecursionError):
        error = ConfigError("it is no connector in JSON: delete it, or make the connector again").located(path)
        return ConnectorFile(path=path, name=name, connector=None, error=error)
    try:
        keys = {**config, "name": name}
        connector = parse_connector(keys, default_name=name, operator=OperatorSettings.present())
    except ConfigError as error:
        return ConnectorFile(path=path, name=name, connector=None, error=error.located(path))
    return ConnectorFile(path=path, name=name, connector=connector, error=None, given=frozenset(config))
