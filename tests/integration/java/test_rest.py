"""Java's REST catalog by the keys of a connector, beside floe on the same strict server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stack.services.rest_catalog import PACKAGES, RestCatalog
from tests.support.java.program import Ask, java_program
from tests.support.rest.strict_lake import PAT, StrictLake
from tests.support.tables.lake import LEDGER, SCHEMA, TABLE, expected
from tests.support.tables.slices import write_slice


@pytest.fixture
def lake(rest_catalog: RestCatalog, tmp_path: Path) -> Iterator[StrictLake]:
    made = StrictLake(tmp_path, server=rest_catalog)
    yield made
    made.close()


@pytest.fixture(scope="module")
def java() -> Iterator[Ask]:
    with java_program("RestCheck", PACKAGES[0]) as ask:
        yield ask


@pytest.mark.parametrize("login", [{}, {"iceberg.catalog.token": PAT}], ids=["oauth2", "token"])
def test_java_uses_the_table_by_the_same_keys(lake: StrictLake, java: Ask, login: dict[str, object]) -> None:
    lake.login = login
    table = lake.tables().create(TABLE, SCHEMA)
    write_slice(lake, (0, 0, 5)).land()
    keys = lake.connector().catalog.for_spark()
    # Java sends the headers of the catalog to the server of the login as well, which this one refuses
    properties = {key: str(value) for key, value in keys.items() if key != "type" and not key.startswith("header.")}
    properties["header.X-Iceberg-Access-Delegation"] = "vended-credentials"  # which PyIceberg sends without being asked
    found = java({"properties": properties, "table": TABLE})
    assert found["location"] == table.location()
    assert LEDGER in found["properties"]
    assert found["properties"]["set.by"] == "java"
    assert any(key.startswith("floe.") for key in found["summary"])
    write_slice(lake, (0, 5, 9), plan_id="plan-2").land()
    assert lake.rows() == expected((0, 9))
    assert lake.load().properties["set.by"] == "java"
