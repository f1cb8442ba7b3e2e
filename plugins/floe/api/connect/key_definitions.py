"""Definitions of keys as Connect describes them, from floe's table of keys."""

from __future__ import annotations

from typing import Any, Final

from floe.config.keys.key import Key, Kind, Status
from floe.config.keys.table import KEYS
from floe.config.secrets.detection import is_secret

REQUIRED: Final = frozenset({"name", "value.converter", "iceberg.catalog.type"})
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
    return [definition_of(entry.name, entry, order) for order, entry in enumerate(plain_keys(), 1)]


def plain_keys() -> list[Key]:
    """Return the keys that a connector may have under exactly one name."""
    return [entry for entry in KEYS if not entry.is_pattern and entry.status is not Status.REFUSED]


def definition_of(key: str, entry: Key | None, order: int = -1) -> dict[str, Any]:
    """Describe a key; ``entry`` is its row in the table, None for one that floe does not know."""
    kind = Kind.STRING if entry is None else entry.kind
    is_required = key in REQUIRED
    default = None if entry is None or is_required else entry.default
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
        "order": order,
    }


def group_of(key: str) -> str:
    """Name the group that a key is shown in."""
    return next((group for start, group in _GROUPS if key.startswith(start)), _COMMON)
