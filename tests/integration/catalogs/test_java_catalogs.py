"""Tables that floe shares with Java's JdbcCatalog, HiveCatalog and HadoopCatalog."""

from __future__ import annotations

import gzip
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from stack.services.kafka_connect import PACKAGES
from stack.services.postgresql import ADMIN, PASSWORD, PostgreSql
from tests.support.catalogs import CatalogLake, HiveLake, PostgreSqlLake
from tests.support.java.catalogs import IMPLEMENTATIONS, java_settings, sparks
from tests.support.java.program import Ask, java_program
from tests.support.metastores.hive_metastore import HiveMetastore
from tests.support.tables.lake import TABLE, expected
from tests.support.tables.slices import write_slice

JARS = (*PACKAGES, "org.postgresql:postgresql:42.7.8", "org.slf4j:slf4j-nop:2.0.17")
JDBC = "org.apache.iceberg.jdbc.JdbcCatalog"
HADOOP = "org.apache.iceberg.hadoop.HadoopCatalog"
EACH = 5
OF_JAVA = 9
"""The partition of Java's rows."""


@pytest.fixture(scope="module")
def program() -> Iterator[Ask]:
    with java_program("CatalogCheck", JARS) as ask:
        yield ask


class Java:
    """Java's catalog of a lake."""

    def __init__(self, ask: Ask, impl: str, name: str, properties: dict[str, str]) -> None:
        self._ask = ask
        self._said(ask({"impl": impl, "name": name, "properties": properties}))

    def do(self, action: str, table: str = TABLE, **more: Any) -> Any:
        return self._said(self._ask({"do": action, "table": table, **more}))

    def append(self, start: int, end: int, each: int = EACH) -> None:
        self.do("append", partition=OF_JAVA, to=end, each=each, **{"from": start})

    def rows(self, table: str = TABLE) -> list[tuple[int, int]]:
        return sorted((partition, offset) for partition, offset in self.do("rows", table))

    @staticmethod
    def _said(answer: Any) -> Any:
        assert "error" not in answer, answer
        return answer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "warehouse").mkdir()
    return tmp_path


@pytest.fixture
def jdbc_lake(folder: Path, postgresql: PostgreSql) -> Iterator[PostgreSqlLake]:
    made = PostgreSqlLake(folder, server=postgresql)
    yield made
    made.close()


@pytest.fixture
def hadoop_lake(folder: Path) -> Iterator[CatalogLake]:
    made = CatalogLake(folder, kind="hadoop")
    yield made
    made.close()


def jdbc(ask: Ask, lake: PostgreSqlLake, **more: str) -> Java:
    """Open the lake's catalog by Java, with the keys of its connector."""
    assert lake.server is not None
    login = {"uri": lake.address or lake.server.jdbc, "jdbc.user": ADMIN, "jdbc.password": PASSWORD}
    return Java(ask, JDBC, lake.name, {**login, "warehouse": f"file://{lake.folder}/warehouse", **more})


def hadoop(ask: Ask, lake: CatalogLake) -> Java:
    return Java(ask, HADOOP, "iceberg", {"warehouse": f"file://{lake.folder}/warehouse"})


# -- JdbcCatalog --------------------------------------------------------------------------------------------------------


def all_at_once(lake: CatalogLake, java: Java) -> None:
    """Have Java and two of floe's workers commit at once: no commit is lost."""
    lake.create(properties={"commit.retry.num-retries": "100", "commit.retry.min-wait-ms": "10"})
    by_partition = [
        [write_slice(lake, (p, start, start + EACH), plan_id=f"plan-{p}-{start}") for start in range(0, 20, EACH)]
        for p in (0, 1)
    ]
    with ThreadPoolExecutor(3) as pool:
        of_java = pool.submit(java.append, 0, 40)
        of_floe = [pool.submit(lambda own: [one.land(timeout_s=60) for one in own], own) for own in by_partition]
        assert [one.already for job in of_floe for one in job.result()] == [False] * 8
        of_java.result()
    rows = sorted(
        row for partition, end in ((0, 20), (1, 20), (OF_JAVA, 40)) for row in expected((0, end), partition=partition)
    )
    assert lake.rows() == rows
    assert java.rows() == rows
    assert len(lake.load().metadata.snapshots) == 16


@pytest.mark.parametrize("version", ["V0", "V1"])
def test_java_and_two_workers_at_once_lose_no_commit(jdbc_lake: PostgreSqlLake, program: Ask, version: str) -> None:
    all_at_once(jdbc_lake, jdbc(program, jdbc_lake, **{"jdbc.schema-version": version}))


def test_tables_of_java_are_floes_and_its_views_are_not(jdbc_lake: PostgreSqlLake, program: Ask) -> None:
    lake = jdbc_lake
    assert lake.server is not None
    lake.create()
    java = jdbc(program, lake, **{"jdbc.schema-version": "V1"})
    java.do("create", "rpc.java", like=TABLE)
    kinds = f"SELECT DISTINCT iceberg_type FROM iceberg_tables WHERE catalog_name = '{lake.name}'"  # noqa: S608 - of this test
    assert lake.server.sql(kinds) == "TABLE"
    assert sorted(java.do("list", namespace="rpc")["tables"]) == ["rpc.java", TABLE]
    view = f"INSERT INTO iceberg_tables VALUES ('{lake.name}', 'rpc', 'a_view', 'x', NULL, 'VIEW')"  # noqa: S608 - of this test
    lake.server.sql(view)
    assert sorted(lake.tables().names("rpc")) == ["rpc.java", TABLE]
    assert lake.tables().load("rpc.a_view") is None
    written = write_slice(lake, (0, 0, 5), tables=("rpc.java",))
    written.land()
    assert java.rows("rpc.java") == expected((0, 5))


def test_catalog_that_java_made_in_v0_is_used_as_it_is(folder: Path, program: Ask, postgresql: PostgreSql) -> None:
    database = f"v0_{uuid.uuid4().hex[:8]}"
    postgresql.sql(f"CREATE DATABASE {database}")
    lake = PostgreSqlLake(folder, server=postgresql, address=f"{postgresql.jdbc.rpartition('/')[0]}/{database}")
    java = jdbc(program, lake)
    columns = "SELECT count(*) FROM information_schema.columns WHERE column_name = 'iceberg_type'"
    assert postgresql.sql(columns, database) == "0"
    lake.create()
    write_slice(lake, (0, 0, 5)).land()
    java.append(0, 5)
    write_slice(lake, (0, 5, 9), plan_id="plan-2").land()
    assert java.rows() == lake.rows() == sorted([*expected((0, 9)), *expected((0, 5), partition=OF_JAVA)])
    assert postgresql.sql(columns, database) == "0"
    lake.close()


# -- HiveCatalog --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_hive() -> Iterator[Ask]:
    with java_program("CatalogCheck", (), more=sparks()) as ask:
        yield ask


@pytest.mark.full
def test_hive_catalog_and_two_workers_at_once_lose_no_commit(
    folder: Path, hive_metastore: HiveMetastore, with_hive: Ask
) -> None:
    lake = HiveLake(folder, server=hive_metastore)
    try:
        lake.catalog().create_namespace_if_not_exists("rpc")
        all_at_once(lake, Java(with_hive, IMPLEMENTATIONS["hive"], "iceberg", java_settings(lake)))
    finally:
        lake.close()


@pytest.mark.full
def test_tables_of_hive_catalog_go_to_and_fro(folder: Path, hive_metastore: HiveMetastore, with_hive: Ask) -> None:
    lake = HiveLake(folder, server=hive_metastore)
    try:
        lake.create()
        java = Java(with_hive, IMPLEMENTATIONS["hive"], "iceberg", java_settings(lake))
        java.do("create", "rpc.java", like=TABLE)
        write_slice(lake, (0, 0, 5), tables=("rpc.java",)).land()
        java.do("append", "rpc.java", partition=OF_JAVA, to=5, each=EACH, **{"from": 0})
        both = sorted([*expected((0, 5)), *expected((0, 5), partition=OF_JAVA)])
        assert java.rows("rpc.java") == lake.rows(name="rpc.java") == both
        assert sorted(java.do("list", namespace="rpc")["tables"]) == sorted(lake.tables().names("rpc"))
    finally:
        lake.close()


# -- HadoopCatalog ------------------------------------------------------------------------------------------------------


def test_hadoop_table_goes_to_and_fro(hadoop_lake: CatalogLake, program: Ask) -> None:
    lake = hadoop_lake
    lake.create()
    java = hadoop(program, lake)
    write_slice(lake, (0, 0, 5)).land()
    assert java.rows() == expected((0, 5))
    java.append(0, 10)
    write_slice(lake, (0, 5, 9), plan_id="plan-2").land()
    both = sorted([*expected((0, 9)), *expected((0, 10), partition=OF_JAVA)])
    assert lake.rows() == both
    assert java.rows() == both
    java.do("create", "rpc.java", like=TABLE)
    written = write_slice(lake, (0, 0, 3), tables=("rpc.java",))
    written.land()
    assert java.rows("rpc.java") == lake.rows(name="rpc.java") == expected((0, 3))
    assert (
        sorted(java.do("list", namespace="rpc")["tables"]) == sorted(lake.tables().names("rpc")) == ["rpc.java", TABLE]
    )
    lake.catalog().create_namespace("more")
    assert sorted(java.do("list", namespace="rpc")["namespaces"]) == ["more", "rpc"]
    java.do("drop", "rpc.java")
    assert lake.tables().load("rpc.java") is None
    lake.catalog().drop_table(TABLE)
    assert java.do("list", namespace="rpc")["tables"] == []


def test_gzip_of_java_is_read_and_that_of_floe_by_java(hadoop_lake: CatalogLake, program: Ask) -> None:
    lake = hadoop_lake
    lake.create()
    java = hadoop(program, lake)
    java.do("set", key="write.metadata.compression-codec", value="gzip")
    assert lake.load().metadata_location.endswith("/v2.gz.metadata.json")
    write_slice(lake, (0, 0, 5)).land()
    location = lake.load().metadata_location
    assert location.endswith("/v3.gz.metadata.json")
    assert gzip.decompress(Path(location.removeprefix("file://")).read_bytes()).startswith(b"{")
    java.append(0, 5)
    assert java.rows() == lake.rows() == sorted([*expected((0, 5)), *expected((0, 5), partition=OF_JAVA)])


@pytest.mark.parametrize("hint", ["1", "no number", None])
def test_hint_that_is_behind_misleads_neither(hadoop_lake: CatalogLake, program: Ask, hint: str | None) -> None:
    lake = hadoop_lake
    lake.create()
    java = hadoop(program, lake)
    java.append(0, 5)
    write_slice(lake, (0, 0, 5)).land()
    file = lake.folder / "warehouse" / "rpc" / "pizzas" / "metadata" / "version-hint.text"
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    file.unlink() if hint is None else file.write_text(hint)
    again = hadoop(program, lake)
    assert again.rows() == lake.rows() == sorted([*expected((0, 5)), *expected((0, 5), partition=OF_JAVA)])
    again.append(5, 10)
    assert len(lake.rows()) == 15
