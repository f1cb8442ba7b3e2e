"""Tables that floe wrote through each type of catalog, read through it by Spark and by Java's library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pyiceberg.exceptions import BadRequestError

from floe.config.catalogs.catalog_types import TYPES
from tests.integration.readers.reader_tables import KINDS, ReaderTable, make_partitioned, make_plain
from tests.integration.readers.spark_checks import metadata_rows, wrong_counts, wrong_files, wrong_metadata
from tests.integration.readers.spark_queries import READ_BY_SPARK, Spark
from tests.support.catalogs import CatalogLake, drop_everything
from tests.support.java.catalogs import AWS_LOGIN, IMPLEMENTATIONS, beside_runtime, java_settings, sparks
from tests.support.java.program import Ask, java_program
from tests.support.metastores.lakes import make_lake

pytestmark = pytest.mark.full

PLACES = [*TYPES, "postgresql"]
TEXTS = ("c_bool", "c_int", "c_long", "c_decimal", "c_wide", "c_date", "c_string", "c_uuid")
"""Columns whose values Java and Python spell alike."""


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    one = Spark(tmp_path_factory.mktemp("spark"), beside_runtime(), AWS_LOGIN)
    yield one
    one.close()


@pytest.fixture(scope="module")
def java() -> Iterator[Ask]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in AWS_LOGIN.items():
            patch.setenv(name, value)
        with java_program("CatalogCheck", (), more=[*sparks(), *beside_runtime()]) as ask:
            yield ask


@pytest.fixture(scope="module", params=PLACES)
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogLake]:
    made = make_lake(request.param, tmp_path_factory.mktemp(request.param), request.getfixturevalue)
    yield made
    drop_everything(made.catalog())
    made.close()


@pytest.fixture(scope="module")
def tables(lake: CatalogLake) -> dict[str, ReaderTable]:
    catalog = lake.catalog()
    catalog.create_namespace("ns")
    made = [
        make_plain(catalog, "plain", KINDS),
        make_partitioned(catalog, "partitioned", KINDS),
    ]
    if lake.kind == "nessie":
        with pytest.raises(BadRequestError, match="Source field with ID 2 for partition spec"):
            make_partitioned(catalog, "nested", KINDS, nested=True)
    else:
        made.append(make_partitioned(catalog, "nested", KINDS, nested=True))
    return {one.name: one for one in made}


@pytest.fixture(scope="module")
def source(spark: Spark, lake: CatalogLake, tables: dict[str, ReaderTable]) -> str:
    """Open the catalog in Spark, with a view for each table; return how the names of its tables begin."""
    given = java_settings(lake)
    # the tables of a database are a catalog's by its name; others are not called by the same name twice
    name = lake.connector().catalog.name if given["type"] == "jdbc" else f"of_{given['type']}"
    key = f"spark.sql.catalog.{name}"
    settings = {f"{key}.{setting}": value for setting, value in given.items()}
    spark.ask("select 1", **{key: "org.apache.iceberg.spark.SparkCatalog", **settings})
    for table in tables:
        spark.view(table, f"{name}.ns.{table}")
    return f"{name}.ns."


@pytest.mark.parametrize("name", READ_BY_SPARK)
def test_spark_reads_what_was_written_through_the_catalog(
    spark: Spark, lake: CatalogLake, tables: dict[str, ReaderTable], source: str, name: str
) -> None:
    if name not in tables:
        pytest.skip("Nessie 0.99 creates no table that is partitioned by a field of a struct")
    table = tables[name]
    assert not wrong_counts(spark, table)
    shown = metadata_rows(spark, table, f"{source}{name}.")
    if lake.kind == "hadoop":  # Java's catalog makes up the address of the present file, in another spelling
        for row in shown["metadata_log_entries"]:
            row["file"] = re.sub("^file:/(?!/)", "file:///", row["file"])
    if lake.kind != "nessie":  # whose tables have their newest snapshot alone, and no others to compare
        assert not wrong_metadata(table, shown)
    assert not wrong_files(spark, table, shown)


def test_java_reads_what_was_written_through_the_catalog(
    java: Ask, lake: CatalogLake, tables: dict[str, ReaderTable]
) -> None:
    answer = java(
        {
            "impl": IMPLEMENTATIONS[java_settings(lake)["type"]],
            "name": lake.connector().catalog.name,
            "properties": java_settings(lake),
        }
    )
    assert answer == {}
    found = java({"do": "values", "table": "ns.plain"})
    written = tables["plain"].table.scan().to_arrow().to_pylist()
    assert sorted(map(str, (_texts(row) for row in found))) == sorted(map(str, (_texts(row) for row in written)))


def _texts(row: dict[str, Any]) -> dict[str, str | None]:
    return {name: None if row[name] is None else str(row[name]).lower() for name in ("id", *TEXTS)}
