"""The same pipeline on catalogs that need no server of Iceberg."""

from __future__ import annotations

from pathlib import Path

import pytest

from floe.catalogs.client import CatalogClient
from stack.services.postgresql import ADMIN, PASSWORD, PostgreSql
from tests.support.runs.pipeline import MakePipeline
from tests.support.runs.records import read_ids


@pytest.fixture
def keys(request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> dict[str, str]:
    (tmp_path / "lake").mkdir()
    warehouse = {"iceberg.catalog.type": kind, "iceberg.catalog.warehouse": f"file://{tmp_path}/lake"}
    if kind == "hadoop":
        return warehouse
    server: PostgreSql = request.getfixturevalue("postgresql")
    login = {"iceberg.catalog.jdbc.user": ADMIN, "iceberg.catalog.jdbc.password": PASSWORD}
    return {**warehouse, **login, "iceberg.catalog": tmp_path.name[-40:], "iceberg.catalog.uri": server.jdbc}


@pytest.mark.parametrize("kind", ["jdbc", "hadoop"])
def test_runs_land_once_in_tables_that_grow(pipeline: MakePipeline, keys: dict[str, str], kind: str) -> None:
    pizzas = pipeline(partitions=2, **keys)
    pizzas.produce({"id": i} for i in range(100))
    pizzas.run()
    pizzas.produce({"id": i, "tip": 1.5} for i in range(100, 150))
    plan = pizzas.run()
    assert pizzas.commit(plan).done
    assert read_ids(pizzas, pizzas.connector.tables[0]) == list(range(150))
    assert CatalogClient.of(pizzas.connector).require(pizzas.connector.tables[0]).schema().find_field("tip")
