"""Spark with Iceberg's runtime reads floe's tables and their metadata tables right, whatever it is asked by."""

from __future__ import annotations

import pytest

from tests.integration.readers.metadata_tables import Row
from tests.integration.readers.reader_tables import ReaderTable
from tests.integration.readers.spark_checks import metadata_rows, wrong_counts, wrong_files, wrong_metadata
from tests.integration.readers.spark_queries import READ_BY_SPARK, Spark

EACH = pytest.mark.parametrize("name", READ_BY_SPARK)


@pytest.mark.parametrize("name", ["plain", *(pytest.param(one, marks=pytest.mark.full) for one in READ_BY_SPARK[1:])])
def test_spark_counts_every_filter_right(spark: Spark, tables: dict[str, ReaderTable], name: str) -> None:
    assert not wrong_counts(spark, tables[name])


def test_spark_finds_extremes_of_uuids(spark: Spark, tables: dict[str, ReaderTable]) -> None:
    sql = "select min(c_uuid), max(c_uuid), count(c_uuid) from plain"
    known = [row["c_uuid"] for row in tables["plain"].table.scan().to_arrow().to_pylist() if row["c_uuid"]]
    assert spark.ask(sql) == [[str(min(known)), str(max(known)), len(known)]]


@pytest.fixture(scope="module")
def shown(spark: Spark, tables: dict[str, ReaderTable]) -> dict[str, dict[str, list[Row]]]:
    """The rows of all metadata tables as Spark has them, by table and metadata table."""
    return {
        name: metadata_rows(spark, tables[name], f"{tables[name].table.metadata_location}#") for name in READ_BY_SPARK
    }


@EACH
def test_spark_shows_what_the_metadata_tables_have(
    shown: dict[str, dict[str, list[Row]]], tables: dict[str, ReaderTable], name: str
) -> None:
    assert not wrong_metadata(tables[name], shown[name])


@EACH
def test_files_of_spark_hold_the_rows_within_their_bounds(
    spark: Spark, shown: dict[str, dict[str, list[Row]]], tables: dict[str, ReaderTable], name: str
) -> None:
    assert not wrong_files(spark, tables[name], shown[name])
