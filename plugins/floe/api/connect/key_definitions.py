"""Definitions of keys as Connect describes them, from floe's table of keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from floe.config.keys.key import Key, Kind, Status
from floe.config.keys.table import KEYS
from floe.config.secrets.detection import is_secret

REQUIRED: Final = frozenset({"name", "value.converter", "iceberg.catalog.type"})
_NAMED: Final = frozenset({"iceberg.connect.group-id", "iceberg.control.group-id"})
"""Keys whose default has the connector's name in it: their definition has none."""

_TYPES: Final = {Kind.MAP: "STRING"}
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
    kind = Kind.STRING if entry is None else entry.kind
    is_required = key in REQUIRED
    has_default = entry is not None and not is_required and key not in _NAMED
    default = entry.default if entry is not None and has_default else None
    return {
        "name": key,
        "type": "PASSWORD" if kind is Kind.STRING and is_secret(key) else _TYPES.get(kind, kind.name),
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
