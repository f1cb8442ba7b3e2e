"""Tables for readers, once for the module, and one Spark that reads them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import Catalog

from floe.catalogs.client import open_catalog
from floe.config import parse_connector
from stack import jars
from tests.integration.readers.reader_tables import KINDS, TIME, ReaderTable, make_partitioned, make_plain
from tests.support.connectors import MINIMAL, sql_catalog

RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
READ_BY_SPARK = ("plain", "partitioned", "nested")


class Spark:
    """A process of Spark's that answers queries."""

    def __init__(self, folder: Path) -> None:
        (jar,) = jars.resolve([RUNTIME], transitive=False)
        self._log = (folder / "spark.log").open("w")
        program = str(Path(__file__).with_name("spark_program.py"))
        self._process = subprocess.Popen(
            [sys.executable, program, str(jar)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=folder,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        )
        self._is_ready = False

    def ask(self, sql: str, **conf: str) -> list[list[Any]]:
        """Return the rows of a query."""
        return self._send({"sql": sql, "conf": conf})

    def view(self, name: str, path: str) -> None:
        """Give a table, or one of its metadata tables, a name."""
        self._send({"view": name, "path": path})

    def _send(self, asked: dict[str, Any]) -> list[list[Any]]:
        assert self._process.stdin is not None and self._process.stdout is not None
        if not self._is_ready:
            assert json.loads(self._process.stdout.readline()) == "ready"
            self._is_ready = True
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert isinstance(answer, list), answer["error"]
        return answer

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()
        self._log.close()


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
