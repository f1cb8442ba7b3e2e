"""The connectors of the tests: the smallest valid one, and the one that runs on a broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

JSON: dict[str, object] = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
MINIMAL: dict[str, object] = {
    "name": "pizzas",
    "topics": "completed-pizzas",
    "iceberg.tables": "rpc.pizzas",
    "iceberg.catalog.type": "sql",
    **JSON,
}
"""The smallest valid connector; its catalog cannot be opened."""


def sql_catalog(folder: Path) -> dict[str, object]:
    """Return the keys of a SQLite catalog and its warehouse in a folder."""
    return {
        "iceberg.catalog.type": "sql",
        "iceberg.catalog.uri": f"sqlite:///{folder}/catalog.db",
        "iceberg.catalog.warehouse": f"file://{folder}/warehouse",
    }


def connector_keys(name: str, topics: str, folder: Path, /, **more: Any) -> dict[str, Any]:
    """Return the keys of a connector that runs: from topics into ``db.t`` of a SQLite catalog below ``folder``.

    A key given as None is left out.
    """
    keys = {
        "name": name,
        "topics": topics,
        "tasks.max": 2,
        "iceberg.tables": "db.t",
        "iceberg.catalog": "test",
        **sql_catalog(folder),
        "iceberg.tables.auto-create-enabled": True,
        "iceberg.tables.evolve-schema-enabled": True,
        "iceberg.control.topic": f"control-{name}",
        "iceberg.control.commit.timeout-ms": 10_000,
        **JSON,
        **more,
    }
    return {key: value for key, value in keys.items() if value is not None}
