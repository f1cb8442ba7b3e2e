"""Connectors with a SQL catalog in a temporary folder."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from floe.catalogs.client import Tables
from floe.config import Connector, parse_connector


@pytest.fixture
def connector(tmp_path: Path) -> Callable[..., Connector]:
    """Make a connector with a SQL catalog in the test's folder, with keys over it."""

    def make(**over: object) -> Connector:
        keys = {
            "name": "pizzas",
            "topics": "completed-pizzas",
            "iceberg.tables": "rpc.pizzas",
            "iceberg.catalog": "lake",
            "iceberg.catalog.type": "sql",
            "iceberg.catalog.uri": f"sqlite:///{tmp_path}/catalog.db",
            "iceberg.catalog.warehouse": f"file://{tmp_path}/warehouse",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
        }
        return parse_connector({**keys, **{name.replace("__", "."): value for name, value in over.items()}})

    return make


@pytest.fixture
def tables(connector: Callable[..., Connector]) -> Iterator[Callable[..., Tables]]:
    """Open the catalog of a connector; it is closed after the test."""
    opened: list[Tables] = []

    def make(**over: object) -> Tables:
        opened.append(Tables.of(connector(**over)))
        return opened[-1]

    yield make
    for one in opened:
        one.catalog.close()
