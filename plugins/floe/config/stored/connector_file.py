"""A stored connector, read as a connector file is: what is wrong with it is returned, not raised."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from floe.config.connector import Connector
from floe.config.connector_files import ConnectorFile
from floe.config.exceptions import ConfigError
from floe.config.identity import DEFAULT_INTERVAL_MS, INTERVAL, identity_of
from floe.config.limits import check_count
from floe.config.names import connector_name_problem
from floe.config.parser import parse_connector
from floe.config.providers.operator_settings import OperatorSettings
from floe.config.stored.operator_lists import OperatorLists
from floe.config.stored.secret_provider import with_stored_secrets
from floe.config.stored.stored_connector import MAX_NAME, StoredConnector

Groups = Collection[tuple[str, str]]
"""Connections and groups of the connectors in files."""

_GROUPS: Final = {"iceberg.connect.group-id": "connect-{}", "iceberg.control.group-id": "cg-control-{}"}


def groups_of(files: Collection[ConnectorFile]) -> Groups:
    """Return the groups that connectors in files have."""
    return {(file.connector.connections.kafka, file.connector.group_id) for file in files if file.connector}


def place_of(name: str) -> Path:
    """Name a stored connector where messages name a file."""
    return Path(f"connector {name} of the REST API")


def stored_file(name: str, text: str, environ: Mapping[str, str], groups: Groups) -> ConnectorFile:
    """Read the Variable of a connector."""
    try:
        stored = StoredConnector.from_text(name, text)
        connector = parsed(stored, environ, groups)
    except ConfigError as error:
        return ConnectorFile(place_of(name), name, None, error.located(place_of(name)), _interval(text))
    given = frozenset(stored.config)
    interval_ms = connector.committing.interval_ms
    return ConnectorFile(
        place_of(name),
        name,
        connector,
        None,
        interval_ms,
        given=given,
        is_paused=stored.is_paused,
        schedule=connector.schedule,
    )


def parsed(stored: StoredConnector, environ: Mapping[str, str], groups: Groups) -> Connector:
    """Parse a stored connector, by the operator's lists too.

    :raises ConfigError: with all that the lists refuse, or else all that is wrong with the keys.
    """
    name, config = stored.name, {**stored.config, "name": stored.name}
    check_count(len(config))
    problems = [*OperatorLists.of(environ).problems(name, config), *_foreign_groups(name, config)]
    if problems:
        raise ConfigError(*problems)  # before anything that values refer to is looked up
    operator = OperatorSettings.of(environ)
    operator = replace(operator, providers=with_stored_secrets(operator.providers, name))
    connector = parse_connector(config, default_name=name, operator=operator)
    if problems := name_problems(name):
        raise ConfigError(*problems)
    if (connector.connections.kafka, connector.group_id) in groups:
        msg = f"the group {connector.group_id!r} is that of a connector file: choose another name"
        raise ConfigError(msg)
    return connector


def name_problems(name: str) -> list[str]:
    """Return what is wrong with the name of a stored connector."""
    problem = connector_name_problem(name)
    if problem is None and len(name) > MAX_NAME:
        problem = f"the name {name[:40]!r}… has {len(name)} characters: one made by REST may have {MAX_NAME}"
    return [problem] if problem else []


def _foreign_groups(name: str, config: Mapping[str, str]) -> list[str]:
    """Refuse groups of other connectors: two that share one would take each other's offsets."""
    own = {key: form.format(name) for key, form in _GROUPS.items()}
    return [
        f"{key} {config[key][:200]!r}: a connector made by REST has the group {group!r}; remove the key"
        for key, group in own.items()
        if key in config and config[key].strip() != group
    ]


def _interval(text: str) -> int:
    try:
        config = StoredConnector.from_text("", text).config
    except ConfigError:
        return DEFAULT_INTERVAL_MS
    return identity_of({INTERVAL: config[INTERVAL]} if INTERVAL in config else {}).interval_ms or DEFAULT_INTERVAL_MS
