"""Catalogs in a real PostgreSQL: what its errors mean for a commit, and what the operator reads of them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

from floe.catalogs.client import CatalogClient
from floe.catalogs.exceptions import CatalogLoginRefused, CatalogMisconfigured, CatalogUnreachable, TableRefused
from floe.catalogs.providers.sql import catalog
from floe.exceptions import Retryable
from stack.progress import wait_until
from stack.services.postgresql import ADMIN, DATABASE, PASSWORD, PostgreSql
from stack.settings import LOOPBACK
from tests.support.catalogs import PostgreSqlLake
from tests.support.tables.killed import catalog_keys, land_beside, portable
from tests.support.tables.lake import SCHEMA, TABLE, expected
from tests.support.tables.slices import write_slice

Session = psycopg.Connection
MakeRole = Callable[..., dict[str, str]]


@pytest.fixture
def lake(tmp_path: Path, postgresql: PostgreSql) -> Iterator[PostgreSqlLake]:
    (tmp_path / "warehouse").mkdir()
    made = PostgreSqlLake(tmp_path, server=postgresql)
    yield made
    made.close()


@pytest.fixture
def session(postgresql: PostgreSql) -> Iterator[Session]:
    """Open a session of another user of the database."""
    with psycopg.connect(
        host=LOOPBACK, port=postgresql.port, user=ADMIN, password=PASSWORD, dbname=DATABASE, autocommit=True
    ) as one:
        yield one


@pytest.fixture
def make_role(session: Session) -> Iterator[MakeRole]:
    """Make a role that may do what is given, and return the keys of its connector."""
    roles: list[str] = []

    def make(grants: str = "", options: str = "") -> dict[str, str]:
        role = f"floe role {len(roles)}"
        roles.append(role)
        session.execute(f"CREATE ROLE \"{role}\" LOGIN PASSWORD 'pass word' {options}")
        if grants:
            session.execute(f'GRANT {grants} ON iceberg_tables, iceberg_namespace_properties TO "{role}"')
        return {"iceberg.catalog.jdbc.user": role, "iceberg.catalog.jdbc.password": "pass word"}

    yield make
    for role in roles:
        session.execute(f'DROP OWNED BY "{role}"')
        session.execute(f'DROP ROLE "{role}"')


def opened(lake: PostgreSqlLake, keys: dict[str, str]) -> CatalogClient:
    return CatalogClient.of(lake.connector(**keys))


def _set_property(lake: PostgreSqlLake, table: Table) -> None:
    with lake.tables().committing(TABLE), table.transaction() as transaction:
        transaction.set_properties({"n": "1"})


def _wait_for_lock(lake: PostgreSqlLake) -> None:
    """Wait until a commit waits for the row that another session holds."""
    assert lake.server is not None
    server = lake.server
    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'UPDATE iceberg_tables%'"
    )
    assert wait_until(lambda: server.sql(waiting) != "0", 30)


@contextmanager
def _held_row(lake: PostgreSqlLake) -> Iterator[None]:
    """Hold the row of the lake's table in another session, as long as the server is there."""
    assert lake.server is not None
    place = {"host": LOOPBACK, "port": lake.server.port, "user": ADMIN, "password": PASSWORD, "dbname": DATABASE}
    holder = psycopg.connect(**place)  # type: ignore[arg-type]
    holder.execute("SELECT 1 FROM iceberg_tables WHERE catalog_name = %s FOR UPDATE", (lake.name,))
    try:
        yield
    finally:
        holder.close()


# -- logins and grants --------------------------------------------------------------------------------------------------


def test_role_that_only_reads_is_refused_with_the_grant(lake: PostgreSqlLake, make_role: MakeRole) -> None:
    before = lake.create().metadata
    written = write_slice(lake, (0, 0, 5))
    client = opened(lake, make_role("SELECT"))
    with pytest.raises(TableRefused, match=r'GRANT SELECT, INSERT, UPDATE, DELETE ON .* TO "floe role 0"') as refusal:
        written.land(client.catalog)
    client.catalog.close()
    assert refusal.value.code == "FLOE-411"
    assert lake.load().metadata == before


def test_role_without_grants_is_refused_where_it_reads(lake: PostgreSqlLake, make_role: MakeRole) -> None:
    lake.create()
    client = opened(lake, make_role())
    with pytest.raises(CatalogMisconfigured, match=r"permission denied for table iceberg_tables.*GRANT SELECT"):
        client.load(TABLE)
    client.catalog.close()


@pytest.mark.parametrize("key", ["jdbc.user", "jdbc.password"])
def test_login_that_is_not_accepted_is_final(lake: PostgreSqlLake, key: str) -> None:
    with pytest.raises(CatalogLoginRefused, match="does not accept user") as refusal:
        opened(lake, {f"iceberg.catalog.{key}": "wrong-wrong"})
    assert PASSWORD not in str(refusal.value)


def test_database_that_is_missing_is_named(lake: PostgreSqlLake, postgresql: PostgreSql) -> None:
    with pytest.raises(CatalogMisconfigured, match="the server knows none of that name") as refusal:
        opened(lake, {"iceberg.catalog.uri": f"jdbc:postgresql://{LOOPBACK}:{postgresql.port}/none"})
    assert PASSWORD not in str(refusal.value)


def test_server_without_tls_is_named_where_it_is_required(lake: PostgreSqlLake) -> None:
    with pytest.raises(CatalogMisconfigured, match=r"no trusted connection .*does not support SSL"):
        opened(lake, {"iceberg.catalog.jdbc.sslmode": "require"})


def test_no_more_connections_is_retried(lake: PostgreSqlLake, make_role: MakeRole) -> None:
    lake.create()
    keys = make_role("ALL", "CONNECTION LIMIT 1")
    client = opened(lake, keys)
    with client.catalog.engine.connect(), pytest.raises(CatalogUnreachable, match="too many connections"):  # type: ignore[attr-defined]
        opened(lake, keys)
    client.catalog.close()


# -- what the database answers to a commit --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "error", "text"),
    [
        ("40001", CommitFailedException, "updated by another process"),
        ("40P01", CommitFailedException, "updated by another process"),
        ("42501", TableRefused, "not allowed to commit .*GRANT"),
        ("25006", CatalogUnreachable, "could not commit"),
        ("57P03", CatalogUnreachable, "could not commit"),
        ("57014", CatalogUnreachable, "outcome of a commit"),
        ("XX000", CatalogUnreachable, "outcome of a commit"),
    ],
)
def test_state_of_an_error_decides_what_it_means(
    lake: PostgreSqlLake, session: Session, state: str, error: type[Exception], text: str
) -> None:
    table = lake.create()
    function = f"fail_{lake.name}"
    session.execute(
        f"CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION 'for a test' USING ERRCODE = '{state}'; END $$"
    )
    session.execute(
        f"CREATE TRIGGER {function} BEFORE UPDATE ON iceberg_tables FOR EACH ROW "
        f"WHEN (NEW.catalog_name = '{lake.name}') EXECUTE FUNCTION {function}()"
    )
    try:
        with (
            pytest.raises(error, match=text),
            lake.tables().committing(TABLE),
            table.transaction() as transaction,
        ):
            transaction.set_properties({"n": "1"})
    finally:
        session.execute(f"DROP FUNCTION {function} CASCADE")
    assert "n" not in lake.load().properties


@pytest.mark.parametrize("level", ["read committed", "repeatable read", "serializable"])
def test_row_that_another_changes_meanwhile_is_a_conflict(lake: PostgreSqlLake, session: Session, level: str) -> None:
    table = lake.create()
    session.execute(f"ALTER ROLE {ADMIN} SET default_transaction_isolation = '{level}'")
    client = lake.catalog()
    mine = client.load_table(TABLE)
    try:
        with ThreadPoolExecutor(1) as pool:
            with session.transaction():
                session.execute(
                    "UPDATE iceberg_tables SET metadata_location = 'elsewhere' WHERE catalog_name = %s", (lake.name,)
                )
                commit = pool.submit(_set_property, lake, mine)
                _wait_for_lock(lake)
            with pytest.raises(CommitFailedException):
                commit.result(20)
    finally:
        session.execute(f"ALTER ROLE {ADMIN} RESET default_transaction_isolation")
    session.execute(
        "UPDATE iceberg_tables SET metadata_location = %s WHERE catalog_name = %s", (table.metadata_location, lake.name)
    )
    assert lake.load().metadata == table.metadata


def test_two_workers_that_serialize_lose_no_commit(lake: PostgreSqlLake, session: Session) -> None:
    lake.create()
    session.execute(f"ALTER ROLE {ADMIN} SET default_transaction_isolation = 'serializable'")
    try:
        by_partition = [
            [write_slice(lake, (p, start, start + 5), plan_id=f"plan-{p}-{start}") for start in (0, 5, 10)]
            for p in (0, 1)
        ]
        with ThreadPoolExecutor(2) as pool:
            jobs = [
                pool.submit(land_beside, str(lake.folder), catalog_keys(lake), portable(own)) for own in by_partition
            ]
            assert [job.result() for job in jobs] == [[False] * 3] * 2
    finally:
        session.execute(f"ALTER ROLE {ADMIN} RESET default_transaction_isolation")
    assert lake.rows() == expected((0, 15)) + expected((0, 15), partition=1)


# -- a server that goes away --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["restarted", "crashed"])
def test_server_restarted_in_mid_commit_lands_once(
    lake: PostgreSqlLake, postgresql: PostgreSql, how: signal.Signals, caplog: pytest.LogCaptureFixture
) -> None:
    lake.create()
    written = write_slice(lake, (0, 0, 5))
    with ThreadPoolExecutor(1) as pool, _held_row(lake):
        commit = pool.submit(written.land, timeout_s=60)
        _wait_for_lock(lake)
        postgresql.stop(how)
        assert wait_until(lambda: "retrying in" in caplog.text, 20), "the commit meets a server that is away"
        postgresql.start()
        assert not commit.result(60).already
    assert lake.rows() == expected((0, 5))
    assert len(lake.load().metadata.snapshots) == 1


@pytest.mark.parametrize(
    ("keys", "own"), [({}, "100ms"), ({"iceberg.catalog.jdbc.options": "-c lock_timeout=100ms"}, "1h")]
)
def test_a_lock_that_nobody_gives_back_ends_a_try(
    lake: PostgreSqlLake, monkeypatch: pytest.MonkeyPatch, keys: dict[str, str], own: str
) -> None:
    monkeypatch.setattr(catalog, "LOCK_TIMEOUT", own)
    lake.create()
    tables = opened(lake, keys)
    table = tables.require(TABLE)
    with (
        _held_row(lake),
        pytest.raises(CatalogUnreachable, match="lock timeout"),
        tables.committing(TABLE),
        table.transaction() as transaction,
    ):
        transaction.set_properties({"n": "1"})
    assert "n" not in tables.require(TABLE).properties
    with tables.committing(TABLE), tables.require(TABLE).transaction() as transaction:
        transaction.set_properties({"n": "1"})
    assert tables.require(TABLE).properties["n"] == "1"
    tables.catalog.close()


def test_connection_broken_by_a_restart_is_replaced(lake: PostgreSqlLake, postgresql: PostgreSql) -> None:
    lake.create()
    client = lake.tables()
    assert client.load(TABLE) is not None
    postgresql.stop()
    with pytest.raises(CatalogUnreachable) as failure:
        client.load(TABLE)
    postgresql.start()
    assert isinstance(failure.value, Retryable)
    assert PASSWORD not in str(failure.value)
    assert client.load(TABLE) is not None


def test_tables_are_made_by_many_workers_at_once(postgresql: PostgreSql, tmp_path: Path) -> None:
    database = f"new_{tmp_path.name[-8:].replace('-', '_')}".lower()
    postgresql.sql(f"CREATE DATABASE {database}")
    lake = PostgreSqlLake(tmp_path, server=postgresql)
    keys = {"iceberg.catalog.uri": postgresql.jdbc.replace(f"/{DATABASE}", f"/{database}")}
    barrier = threading.Barrier(4, timeout=30)

    def open_one(_: int) -> CatalogClient:
        barrier.wait()
        return opened(lake, keys)

    with ThreadPoolExecutor(4) as pool:
        clients = list(pool.map(open_one, range(4)))
    assert [client.catalog._schema_version for client in clients] == ["v1"] * 4  # type: ignore[attr-defined]
    for client in clients:
        client.catalog.close()


@pytest.mark.parametrize(("version", "found"), [("V0", "v0"), ("V1", "v1")])
def test_schema_of_javas_first_version_is_used_or_raised(
    postgresql: PostgreSql, tmp_path: Path, version: str, found: str
) -> None:
    database = f"schema_{version.lower()}"
    postgresql.sql(f"CREATE DATABASE {database}")
    (tmp_path / "warehouse").mkdir()
    lake = PostgreSqlLake(tmp_path, server=postgresql)
    keys = {"iceberg.catalog.uri": postgresql.jdbc.replace(f"/{DATABASE}", f"/{database}")}
    opened(lake, keys).catalog.close()
    postgresql.sql("ALTER TABLE iceberg_tables DROP COLUMN iceberg_type", database)
    client = opened(lake, {**keys, "iceberg.catalog.jdbc.schema-version": version})
    assert client.catalog._schema_version == found  # type: ignore[attr-defined]
    client.create("db.t", SCHEMA)
    assert client.names() == ["db.t"]
    client.catalog.close()


def test_tables_that_may_not_be_made_are_named(postgresql: PostgreSql, tmp_path: Path) -> None:
    postgresql.sql("CREATE DATABASE empty")
    lake = PostgreSqlLake(tmp_path, server=postgresql)
    keys = {"iceberg.catalog.uri": postgresql.jdbc.replace(f"/{DATABASE}", "/empty")}
    with pytest.raises(CatalogMisconfigured, match="has no table iceberg_tables and no table iceberg_namespace"):
        opened(lake, {**keys, "iceberg.catalog.jdbc.init-catalog-tables": "false"})
