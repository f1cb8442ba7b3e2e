"""A connector's catalog as Spark has it, and the jars that it needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stack.exceptions import StackError
from stack.local import CATALOG, Local
from stack.settings import Settings
from stack.spark.catalog import AWS, DRIVERS, RUNTIME, SparkCatalog, of_connector, of_demo
from tests.support.repository import ROOT

SQLITE = DRIVERS["jdbc:sqlite:"]


def local(**variables: str) -> Local:
    return Local(Settings.read({"FLOE_STATE": "/floe/state", **variables}))


def connector(folder: Path, **keys: str) -> Path:
    config = json.loads((ROOT / "dags" / "connectors" / "pizzas-on-ice.json").read_text())["config"]
    file = folder / "one.json"
    own = {key: value for key, value in config.items() if not key.startswith("iceberg.catalog")}
    file.write_text(json.dumps({"name": "one", "config": own | keys}))
    return file


def read(file: Path) -> SparkCatalog:
    return of_connector(file, CATALOG, local().catalog)


def test_demo_catalog_is_jdbcs_and_only_read() -> None:
    one = of_demo(CATALOG, local().catalog)
    assert one.conf() == {
        "spark.sql.catalog.demo": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.demo.type": "jdbc",
        "spark.sql.catalog.demo.uri": "jdbc:sqlite:/floe/state/catalog.db",
        "spark.sql.catalog.demo.warehouse": "file:///floe/state/warehouse",
        "spark.sql.catalog.demo.jdbc.open_mode": "1",
        "spark.sql.catalog.demo.jdbc.busy_timeout": "30000",
    }
    assert one.packages == (RUNTIME, SQLITE)


def test_demo_catalog_on_s3_has_icebergs_client() -> None:
    one = of_demo(CATALOG, local(STORE="s3", S3_PORT="19000").catalog)
    assert one.properties["io-impl"] == "org.apache.iceberg.aws.s3.S3FileIO"
    assert one.properties["s3.endpoint"] == "http://127.0.0.1:19000"
    assert (one.properties["client.region"], one.properties["s3.path-style-access"]) == ("us-east-1", "true")
    assert one.packages == (RUNTIME, SQLITE, AWS)


def test_connector_of_the_demo_has_the_demos_catalog() -> None:
    assert read(ROOT / "dags" / "connectors" / "pizzas-on-ice.json") == of_demo(CATALOG, local().catalog)


def test_connector_with_a_catalog_of_its_own_is_translated(tmp_path: Path) -> None:
    keys = {"iceberg.catalog": "lake", "iceberg.catalog.type": "rest", "iceberg.catalog.uri": "http://127.0.0.1:8181"}
    one = read(connector(tmp_path, **keys))
    assert (one.name, dict(one.properties)) == ("lake", {"type": "rest", "uri": "http://127.0.0.1:8181"})
    assert one.packages == (RUNTIME,)


def test_catalog_in_postgresql_needs_its_driver(tmp_path: Path) -> None:
    uri = "jdbc:postgresql://127.0.0.1:5432/lake"
    one = read(connector(tmp_path, **{"iceberg.catalog.type": "jdbc", "iceberg.catalog.uri": uri}))
    assert one.packages == (RUNTIME, DRIVERS["jdbc:postgresql:"])
    assert "jdbc.open_mode" not in one.properties


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"iceberg.catalog": "lake", "iceberg.catalog.type": "rest"},
            "'lake' is not in the connector: set iceberg.cat",
        ),
        (
            {
                "iceberg.catalog.type": "rest",
                "iceberg.catalog.uri": "http://x",
                "iceberg.catalog.token": "${env:TOKEN}",
            },
            r"iceberg\.catalog\.token is a reference",
        ),
        ({"iceberg.catalog.type": "rst"}, "Correct the file; `make check CONNECTOR="),
    ],
)
def test_catalog_that_cannot_be_queried_says_why(
    tmp_path: Path, keys: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOE_CONFIG_PROVIDERS", "env")
    with pytest.raises(StackError, match=message):
        read(connector(tmp_path, **keys))


def test_connector_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(StackError, match=r"none\.json' cannot be read \(No such file or directory\)"):
        read(tmp_path / "none.json")
