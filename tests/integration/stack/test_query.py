"""Queries of a local stack's catalog, and of a connector's: rows, lines of PySpark, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

from floe.catalogs.client import CatalogClient
from floe.config import parse_connector
from floe.query.catalog import RUNTIME
from stack import jars
from stack.jars import CACHE
from stack.local import CATALOG, Local
from stack.settings import REPOSITORY, Settings
from tests.support.connectors import connector_keys

ROWS = pa.table({"store_id": [1, 1, 42], "sauce": ["bbq", "a\x1b[2J", None]})


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The variables of a stack that is down, with a table of two snapshots."""
    variables = {"FLOE_STATE": str(tmp_path), "FLOE_JARS": str(CACHE)}
    catalog = load_catalog(CATALOG, type="sql", **Local(Settings.read(variables)).catalog)
    try:
        catalog.create_namespace("rpc")
        table = catalog.create_table("rpc.pizzas", ROWS.schema)
        for row in (ROWS[:1], ROWS[1:]):
            table.append(row)
    finally:
        catalog.close()
    return variables


def query(environment: dict[str, str], *arguments: str, lines: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stack", "query", *arguments]
    return subprocess.run(
        command,
        env={**os.environ, **environment, "PYTHONPATH": str(REPOSITORY / "plugins")},
        cwd=REPOSITORY,
        input=lines,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


LINES = """
from floe.query.exceptions import QueryError
from floe.query.statements import print_rows

df = spark.table("demo.rpc.pizzas")
df.sort("sauce").show(1)
df.groupBy("store_id").count().sort("count", ascending=False).show(5)
print("snapshots", spark.table("demo.rpc.pizzas.history").count())
print_rows(spark, "select * from rpc.pizzas order by store_id, sauce;")
for sql in (
    "select * from rpc.pizas",
    "selec 1",
    "select sauces from rpc.pizzas",
    "drop table rpc.pizzas",
    "insert into rpc.pizzas values (7, 'none')",
    "create table rpc.mine (n int)",
):
    try:
        print_rows(spark, sql)
    except QueryError as error:
        print("--", str(error).splitlines()[0])
"""


def test_query_shows_rows_and_explains_what_fails(environment: dict[str, str], tmp_path: Path) -> None:
    done = query(environment, lines=LINES)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "|       1|    2|" in done.stdout
    assert "snapshots 2" in done.stdout
    assert "| 1          | a\\x1b[2J |" in done.stdout
    assert "| 42         | NULL     |" in done.stdout
    failed = [line.removeprefix("-- ") for line in done.stdout.splitlines() if line.startswith("-- ")]
    assert failed[0] == "there is no table rpc.pizas. Nearest: rpc.pizzas"
    assert "selec" in failed[1]
    assert "UNRESOLVED_COLUMN" in failed[2]
    assert [one.startswith("no table was changed") for one in failed[3:]] == [True, True, True]
    assert done.stderr == ""
    assert not list(REPOSITORY.glob("spark-warehouse")) + list(REPOSITORY.glob("metastore_db"))
    assert (tmp_path / "query.log").exists()


@pytest.mark.full
def test_query_of_a_statement_is_a_table_or_an_error(environment: dict[str, str]) -> None:
    done = query(environment, "--", "select count(*) as pizzas from rpc.pizzas")
    assert (done.returncode, done.stdout.splitlines()[-2:]) == (0, ["+----------+", "1 row"]), done.stderr
    done = query(environment, "--", "select * from pizzas")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "error: there is no table pizzas. Nearest: rpc.pizzas"


CHANGES = """
for change in (
    lambda: spark.sql("drop table rpc.pizzas"),
    lambda: spark.sql("with x as (select 7 as a, 'b' as b) insert into rpc.pizzas select * from x"),
    lambda: spark.sql("call lake.system.rollback_to_snapshot('rpc.pizzas', 1)"),
    lambda: spark.sql("execute immediate 'truncate table rpc.pizzas'"),
    lambda: spark.sql("begin delete from rpc.pizzas; end"),
    lambda: spark.sql("delete from {pizzas}", pizzas=spark.table("rpc.pizzas")),
    lambda: spark.table("rpc.pizzas").writeTo("rpc.pizzas").append(),
    lambda: spark.table("rpc.pizzas").write.save("lake.rpc.pizzas", format="iceberg"),
):
    try:
        change()
    except Exception as error:
        print("--", type(error).__name__)
for sql in ("show tables in rpc", "from rpc.pizzas select sauce", "explain drop table rpc.pizzas", "describe rpc.pizzas"):
    print("rows", spark.sql(sql).count())
print("args", spark.sql("select * from {p} where store_id = :one", {"one": 1}, p=spark.table("rpc.pizzas")).count())
"""


def test_floe_query_reads_a_connectors_catalog_only(tmp_path: Path) -> None:
    keys = connector_keys("pizzas", "t", tmp_path, **{"iceberg.tables": "rpc.pizzas", "iceberg.catalog": "lake"})
    keys = {key: value for key, value in keys.items() if not key.startswith("iceberg.catalog.")}
    warehouse = tmp_path / "lake"
    warehouse.mkdir()
    keys |= {"iceberg.catalog.type": "hadoop", "iceberg.catalog.warehouse": f"file://{warehouse}"}
    (tmp_path / "pizzas.json").write_text(json.dumps(keys))
    catalog = CatalogClient.of(parse_connector(keys)).catalog
    catalog.create_namespace("rpc")
    catalog.create_table("rpc.pizzas", ROWS.schema).append(ROWS)
    before = sorted(path for path in warehouse.rglob("*"))
    (runtime,) = jars.resolve([RUNTIME], transitive=False)
    command = [
        sys.executable,
        "-m",
        "floe",
        "query",
        "--connector",
        str(tmp_path / "pizzas.json"),
        "--jars",
        str(runtime),
    ]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "plugins"), "HOME": str(tmp_path)},
        cwd=tmp_path,
        input=CHANGES,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines == ["-- QueryRefused"] * 8 + ["rows 1", "rows 3", "rows 1", "rows 2", "args 2"]
    assert sorted(path for path in warehouse.rglob("*")) == before
