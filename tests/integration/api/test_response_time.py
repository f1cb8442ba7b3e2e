"""How long the page waits, and what the plugin costs the API server: 50 connectors of 1,000 partitions, on PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from stack.services.postgresql import PostgreSql
from stack.settings import LOOPBACK
from tests.support.api.records import record
from tests.support.api.server import ApiServer, seed

pytestmark = pytest.mark.full

CONNECTORS, PARTITIONS, RUNS, REQUESTS = 50, 20, 40, 200
MOST_SECONDS, MOST_MEGABYTES = 0.3, 60


@pytest.fixture(scope="module")
def database(postgresql: PostgreSql) -> str:
    """The address of an empty database."""
    postgresql.sql("CREATE ROLE airflow LOGIN PASSWORD 'airflow'")
    postgresql.sql("CREATE DATABASE airflow OWNER airflow")
    return f"postgresql+psycopg://airflow:airflow@{LOOPBACK}:{postgresql.port}/airflow"


def settings(database: str, **more: str) -> dict[str, str]:
    names = ("SQL_ALCHEMY_CONN", "SQL_ALCHEMY_CONN_ASYNC")
    return {f"AIRFLOW__DATABASE__{name}": database for name in names} | more


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, database: str) -> Iterator[ApiServer]:
    """The server with as many connectors, each with holes, dead letters and a history."""
    names = [f"connector-{index:02}" for index in range(CONNECTORS)]
    kept = [record(name, f"t.{name}", f"db.{name}", partitions=PARTITIONS, holes=True, letters=True) for name in names]
    seeds = [seed(name, one, runs=["success"] * RUNS) for name, one in zip(names, kept, strict=True)]
    one = ApiServer(tmp_path_factory.mktemp("api"), seeds, **settings(database))
    yield one
    one.stop()


@pytest.mark.parametrize("path", ["view/connectors", "view/connectors/connector-07", "metrics", "page/"])
def test_95_of_100_answers_are_there_in_time(server: ApiServer, path: str) -> None:
    seconds = []
    with server.client("viewer") as client:
        for number in range(REQUESTS + 10):
            began = time.perf_counter()
            answer = client.get(f"/floe/{path}").raise_for_status()
            seconds += [time.perf_counter() - began] if number >= 10 else []
    seconds.sort()
    p50, p95 = (seconds[int(len(seconds) * share)] for share in (0.5, 0.95))
    print(f"\n{path}: p50 {p50 * 1e3:.0f} ms, p95 {p95 * 1e3:.0f} ms, {len(answer.content) / 1e3:.0f} kB")
    assert p95 <= MOST_SECONDS


def test_plugin_adds_little_to_the_servers_memory(
    server: ApiServer, database: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def used(one: ApiServer, *paths: str) -> float:
        """Return megabytes after the calls."""
        with one.client("viewer") as client:
            for path in ("/api/v2/dags", "/api/v2/version", *paths) * 20:
                client.get(path).raise_for_status()
        return psutil.Process(one.process.pid).memory_info().rss / 1e6

    none = tmp_path / "plugins"
    none.mkdir()
    folder = tmp_path_factory.mktemp("api")
    without = ApiServer(folder, [], files={}, **settings(database, AIRFLOW__CORE__PLUGINS_FOLDER=str(none)))
    try:
        base = used(without)
    finally:
        without.stop()
    with_floe = used(
        server, "/floe/view/connectors", "/floe/view/connectors/connector-07", "/floe/metrics", "/floe/page/"
    )
    print(f"\nwithout the plugin {base:.0f} MB, with it {with_floe:.0f} MB")
    assert with_floe - base <= MOST_MEGABYTES
