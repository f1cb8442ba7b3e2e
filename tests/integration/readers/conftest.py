"""Tables for readers, once for the module, and one Spark that reads them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyiceberg.catalog import Catalog

from floe.catalogs.client import open_catalog
from floe.config import parse_connector
from tests.integration.readers.reader_tables import KINDS, TIME, ReaderTable, make_partitioned, make_plain
from tests.integration.readers.spark_queries import READ_BY_SPARK, Spark
from tests.support.connectors import MINIMAL, sql_catalog


@pytest.fixture(scope="session")
def starting_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    """Spark, which starts while the tables are written."""
    one = Spark(tmp_path_factory.mktemp("spark"))
    yield one
    one.close()


@pytest.fixture(scope="session")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    """A catalog of files with the namespace ``ns``."""
    folder = tmp_path_factory.mktemp("readers")
    keys = {**MINIMAL, "name": "readers", "iceberg.tables": "ns.t", **sql_catalog(folder)}
    one = open_catalog(parse_connector(keys))
    one.create_namespace("ns")
    yield one
    one.close()


@pytest.fixture(scope="session")
def tables(catalog: Catalog) -> dict[str, ReaderTable]:
    """The tables by name; those named ``clock…`` have times, which Spark does not read."""
    made = [
        make_plain(catalog, "plain", KINDS),
        make_partitioned(catalog, "partitioned", KINDS),
        make_partitioned(catalog, "nested", KINDS, nested=True),
        make_plain(catalog, "clock", [TIME]),
        make_partitioned(catalog, "clock_partitioned", [TIME]),
    ]
    return {one.name: one for one in made}


@pytest.fixture(scope="session")
def spark(starting_spark: Spark, tables: dict[str, ReaderTable]) -> Spark:
    """Spark with a view for each table that it reads."""
    for name in READ_BY_SPARK:
        starting_spark.view(name, tables[name].table.metadata_location)
    return starting_spark
