"""The password of a SQL catalog is read nowhere: not in errors, logs or tables, whichever way it was given."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql

from floe.catalogs.client import CatalogClient
from floe.exceptions import FloeError
from stack.services.postgresql import ADMIN, DATABASE, PASSWORD, PostgreSql
from stack.settings import LOOPBACK
from tests.support.canary import HARD, Canaries, files
from tests.support.catalogs import PostgreSqlLake
from tests.support.tables.lake import TABLE
from tests.support.tables.slices import write_slice

ROLE = "canary"
Keys = dict[str, str]


def as_java_does(server: PostgreSql, password: str) -> Keys:
    return {"iceberg.catalog.jdbc.user": ROLE, "iceberg.catalog.jdbc.password": password}


def in_the_query(server: PostgreSql, password: str) -> Keys:
    return {"iceberg.catalog.uri": f"{server.jdbc}?user={ROLE}&password={quote(password, safe='')}"}


@pytest.mark.full
@pytest.mark.parametrize("way", [as_java_does, in_the_query], ids=lambda way: way.__name__)
@pytest.mark.parametrize("hard", ["", HARD])
def test_password_is_in_no_error_no_log_and_no_file(
    postgresql: PostgreSql,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    way: Callable[[PostgreSql, str], Keys],
    hard: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    canaries = Canaries()
    password = canaries.plant("of the connector", hard=hard)
    (tmp_path / "warehouse").mkdir()
    lake = PostgreSqlLake(tmp_path, server=postgresql)
    lake.create()
    written = write_slice(lake, (0, 0, 5))
    said: list[str] = []

    def fails(act: Callable[[], object]) -> None:
        with pytest.raises(FloeError) as failure:
            act()
        said.append("".join(traceback.format_exception(failure.value)))

    keys = way(postgresql, password)
    if way is as_java_does:
        other = {"iceberg.catalog.uri": postgresql.jdbc.replace(f"/{DATABASE}", "/none")}
        tls = {"iceberg.catalog.jdbc.sslmode": "require"}
    else:
        other = {"iceberg.catalog.uri": keys["iceberg.catalog.uri"].replace(f"/{DATABASE}?", "/none?")}
        tls = {"iceberg.catalog.uri": f"{keys['iceberg.catalog.uri']}&sslmode=require"}
    fails(lambda: CatalogClient.of(lake.connector(**keys)))  # no such role yet
    with psycopg.connect(
        host=LOOPBACK, port=postgresql.port, user=ADMIN, password=PASSWORD, dbname=DATABASE, autocommit=True
    ) as session:
        session.execute(sql.SQL("CREATE ROLE canary LOGIN PASSWORD {}").format(sql.Literal(password)))
        try:
            session.execute("GRANT SELECT ON iceberg_tables, iceberg_namespace_properties TO canary")
            for more in (other, tls):
                fails(lambda more=more: CatalogClient.of(lake.connector(**{**keys, **more})))  # type: ignore[misc]
            client = CatalogClient.of(lake.connector(**keys))
            said += [repr(client), repr(client.catalog), repr(client.connector)]
            fails(lambda: written.land(client.catalog))
            session.execute("REVOKE SELECT ON iceberg_tables FROM canary")
            fails(lambda: client.load(TABLE))
            client.catalog.close()
        finally:
            session.execute("DROP OWNED BY canary")
            session.execute("DROP ROLE canary")
    lake.close()
    assert len(said) == 8
    canaries.watch(files(tmp_path), lambda: [("what was said", text.encode()) for text in (*said, caplog.text)])
    assert canaries.seen() == []
