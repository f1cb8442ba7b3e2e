"""The answer of ``config/validate``: what each key is, its value, and what is wrong with it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from floe.api.connect.key_definitions import definition_of, group_of, orders, plain_keys
from floe.api.connect.known_connectors import FOLDER
from floe.config import ConfigError
from floe.config.keys.lookup import find
from floe.config.limits import check_count
from floe.config.parser import parse_connector
from floe.config.providers.operator_settings import OperatorSettings
from floe.config.secrets.detection import is_secret
from floe.config.secrets.mask import hide
from floe.config.secrets.quoted_secrets import without_secrets
from floe.config.stored.connector_file import groups_of, parsed
from floe.config.stored.operator_lists import OperatorLists, secret_reference
from floe.config.stored.stored_connector import StoredConnector

NULL: Final = "{key!r} is null: give it a value or leave it out"

_WORD: Final = re.compile(r"[\w.<>-]+")
_KEY_OF: Final = (
    ("Must specify table name(s)", "iceberg.tables"),
    ("Must specify Iceberg catalog properties", "iceberg.catalog.type"),
    ("Cannot specify both static and dynamic table names", "iceberg.tables.dynamic-enabled"),
    ("Must specify a route field", "iceberg.tables.route-field"),
    ("Must specify topics", "topics"),
    ("the connector has no name", "name"),
    ("the name ", "name"),
    ("the group ", "iceberg.connect.group-id"),
)
"""Problems that do not begin with their key, and the key that each is shown at."""


def validate(plugin: str, given: Mapping[str, str | None]) -> dict[str, Any]:
    """Check a configuration as it would be stored, or, where connectors cannot be made by REST, as a file."""
    try:
        check_count(len(given))
    except ConfigError as error:
        return _answer(plugin, {}, {"name": [*error.problems]})
    config = {key: value for key, value in given.items() if value is not None}
    problems = _by_key(config, _problems(config))
    for key in given.keys() - config.keys():
        problems.setdefault(key, []).append(NULL.format(key=key[:200]))
    return _answer(plugin, config, problems)


def _answer(plugin: str, config: Mapping[str, str], problems: Mapping[str, list[str]]) -> dict[str, Any]:
    entries = {entry.name: entry for entry in plain_keys()}
    keys = [*entries, *(key for key in [*config, *problems] if key not in entries)]
    configs = [_config(key, order, config, problems.get(key, [])) for key, order in orders(keys).items()]
    return {
        "name": plugin,
        "error_count": sum(len(one["value"]["errors"]) for one in configs),
        "groups": list(dict.fromkeys(group_of(key) for key in keys)),
        "configs": configs,
    }


def _problems(config: Mapping[str, str]) -> list[str]:
    name = config.get("name", "")
    try:
        if OperatorLists.of(os.environ).is_enabled:
            parsed(StoredConnector(name, config), os.environ, groups_of(FOLDER.files()))
        else:
            # without the operator's providers and modules: nothing is looked up for whoever asks
            parse_connector(config, operator=OperatorSettings(OperatorSettings.present().worker))
    except ConfigError as error:
        return [hide(problem) for problem in without_secrets(config, error.first_problems())]
    return []


def _by_key(config: Mapping[str, str], problems: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for problem in problems:
        found.setdefault(_key_of(problem, config), []).append(problem)
    return found


def _key_of(problem: str, config: Mapping[str, str]) -> str:
    for start, key in _KEY_OF:
        if problem.startswith(start):
            return key
    words = [word.strip(".,:") for word in _WORD.findall(problem)]
    known = [word for word in words if word in config or find(word) is not None]
    return next((word for word in known if "." in word), next(iter(known), "name"))


def _config(key: str, order: int, config: Mapping[str, str], errors: list[str]) -> dict[str, Any]:
    entry = find(key)
    definition = definition_of(key, entry, order)
    value = config.get(key, definition["default_value"])
    if value is not None and key in config and is_secret(key, value):
        value = secret_reference(config.get("name", ""), key)
    return {
        "definition": definition,
        "value": {"name": key, "value": value, "recommended_values": [], "errors": errors, "visible": True},
    }
