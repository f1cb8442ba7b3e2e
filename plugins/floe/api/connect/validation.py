"""The answer of ``config/validate``: what each key is, its value, and what is wrong with it."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from floe.api.connect.connector_store import FOLDER
from floe.config import ConfigError
from floe.config.document import check_count
from floe.config.keys.key import Key, KeyType, Status
from floe.config.keys.lookup import KEYS, find
from floe.config.parser import parse_connector
from floe.config.providers.allow_list import OperatorSettings
from floe.config.secrets.detection import is_secret
from floe.config.secrets.mask import hide, without_secrets
from floe.config.stored.operator_lists import OperatorLists, secret_reference
from floe.config.stored.stored_connector import StoredConnector, groups_of, parsed

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


# Definitions of keys as Connect describes them, from floe's table of keys.


REQUIRED: Final = frozenset({"name", "value.converter", "iceberg.catalog.type"})
_NAMED: Final = frozenset({"iceberg.connect.group-id", "iceberg.control.group-id"})
"""Keys whose default has the connector's name in it: their definition has none."""

_TYPES: Final = {KeyType.MAP: "STRING"}
_COMMON: Final = "Common"
_GROUPS: Final = (
    ("transforms", "Transforms"),
    ("predicates", "Predicates"),
    ("errors.", "Error Handling"),
    ("iceberg.", "Iceberg"),
    ("floe.", "floe"),
)


def definitions() -> list[dict[str, Any]]:
    """Return the definitions of all keys that are no patterns, in the order of the table."""
    entries = {entry.name: entry for entry in plain_keys()}
    return [definition_of(key, entries[key], order) for key, order in orders(entries).items()]


def orders(keys: Iterable[str]) -> dict[str, int]:
    """Number keys, each in its group."""
    counts: Counter[str] = Counter()
    found: dict[str, int] = {}
    for key in dict.fromkeys(keys):
        counts[group_of(key)] += 1
        found[key] = counts[group_of(key)]
    return found


def plain_keys() -> list[Key]:
    """Return the keys that a connector may have under exactly one name."""
    return [entry for entry in KEYS if not entry.is_pattern and entry.status is not Status.REFUSED]


def definition_of(key: str, entry: Key | None, order: int) -> dict[str, Any]:
    """Describe a key; ``entry`` is its row in the table, None for one that floe does not know. ``order``: in its group."""
    kind = KeyType.STRING if entry is None else entry.kind
    is_required = key in REQUIRED
    has_default = entry is not None and not is_required and key not in _NAMED
    default = entry.default if entry is not None and has_default else None
    return {
        "name": key,
        "type": "PASSWORD" if kind is KeyType.STRING and is_secret(key) else _TYPES.get(kind, kind.name),
        "required": is_required,
        "default_value": default,
        "importance": "HIGH" if is_required else "MEDIUM" if entry and entry.status is Status.SUPPORTED else "LOW",
        "documentation": "" if entry is None else entry.doc,
        "group": group_of(key),
        "width": "MEDIUM",
        "display_name": key,
        "dependents": [],
        "order_in_group": order,
    }


def group_of(key: str) -> str:
    """Name the group that a key is shown in."""
    return next((group for start, group in _GROUPS if key.startswith(start)), _COMMON)
