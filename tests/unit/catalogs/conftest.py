"""Connectors with a SQL catalog in a temporary folder."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from floe.catalogs.client import CatalogClient
from floe.config import Connector, parse_connector
from tests.support.connectors import MINIMAL, sql_catalog
from tests.support.fixtures import lake

__all__ = ["lake"]


@pytest.fixture
def connector(tmp_path: Path) -> Callable[..., Connector]:
    """Make a connector with a SQL catalog in the test's folder, with keys over it."""

    def make(**over: object) -> Connector:
        keys = {**MINIMAL, "iceberg.catalog": "lake", **sql_catalog(tmp_path)}
        return parse_connector({**keys, **{name.replace("__", "."): value for name, value in over.items()}})

    return make


@pytest.fixture
def tables(connector: Callable[..., Connector]) -> Iterator[Callable[..., CatalogClient]]:
    """Open the catalog of a connector; it is closed after the test."""
    opened: list[CatalogClient] = []

    def make(**over: object) -> CatalogClient:
        opened.append(CatalogClient.of(connector(**over)))
        return opened[-1]

    yield make
    for one in opened:
        one.catalog.close()
