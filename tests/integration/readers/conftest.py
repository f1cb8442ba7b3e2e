"""Tables for readers, once for the session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from readers.reader_tables import KINDS, TIME, ReaderTable, make_partitioned, make_plain

from floe.catalogs.catalog import open_catalog
from floe.config import parse_connector


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ReaderTable]]:
    """The tables by name; those named ``clock…`` have times, which Spark does not read."""
    folder = tmp_path_factory.mktemp("readers")
    keys = {
        "name": "readers",
        "topics": "t",
        "iceberg.tables": "ns.t",
        "iceberg.catalog.type": "sql",
        "iceberg.catalog.uri": f"sqlite:///{folder}/catalog.db",
        "iceberg.catalog.warehouse": folder.as_uri(),
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    catalog = open_catalog(parse_connector(keys))
    catalog.create_namespace("ns")
    made = [
        make_plain(catalog, "plain", KINDS),
        make_partitioned(catalog, "partitioned", KINDS),
        make_plain(catalog, "clock", [TIME]),
        make_partitioned(catalog, "clock_partitioned", [TIME]),
    ]
    yield {one.name: one for one in made}
    catalog.close()
