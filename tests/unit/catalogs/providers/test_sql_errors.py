"""What databases' errors mean, and which SQL catalogs cannot be opened. PostgreSQL itself: see the integration tests."""

from __future__ import annotations

import sqlite3
import sys
import traceback
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from pyiceberg.exceptions import ForbiddenError, UnauthorizedError
from sqlalchemy.exc import OperationalError

from floe.catalogs.client import CatalogClient
from floe.catalogs.errors import Answer
from floe.catalogs.exceptions import CatalogMisconfigured
from floe.catalogs.providers.catalog_providers import provider_named
from floe.catalogs.providers.sql.errors import is_conflict, missing_database, refusal_of
from floe.config import parse_connector
from tests.support.connectors import MINIMAL


class DriverError(Exception):
    """An error of a driver: psycopg has ``sqlstate``, psycopg2 ``pgcode``, PyMySQL a number as its first argument."""

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args)
        self.__dict__.update(fields)


def wrapped(error: Exception) -> OperationalError:
    return OperationalError("UPDATE", {}, error)


def refusal(error: Exception, user: str = "floe") -> Exception | None:
    engine = SimpleNamespace(url=SimpleNamespace(username=user))
    context = SimpleNamespace(sqlalchemy_exception=wrapped(error), original_exception=error, engine=engine)
    return refusal_of(context)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "error",
    [
        DriverError("x", sqlstate="40001"),
        DriverError("x", sqlstate="40P01"),
        DriverError("x", pgcode="40001"),
        DriverError(1213, "Deadlock found"),
    ],
)
def test_rolled_back_for_another_is_a_conflict(error: Exception) -> None:
    assert is_conflict(wrapped(error))
    assert provider_named("sql").classify(wrapped(error), was_sent=True) is Answer.CONFLICT


@pytest.mark.parametrize(
    "error",
    [
        DriverError("x", sqlstate="53300"),
        DriverError("connection failed: FATAL:  sorry, too many clients already"),
        DriverError("connection failed: FATAL:  the database system is starting up"),
        DriverError("connection failed: Connection refused"),
        DriverError(1040, "Too many connections"),
        DriverError(2003, "Can't connect"),
    ],
)
def test_not_carried_out_is_tried_again_without_a_doubt(error: Exception) -> None:
    assert provider_named("sql").classify(wrapped(error), was_sent=True) is Answer.UNREACHABLE


@pytest.mark.parametrize(
    "error",
    [
        DriverError("server closed the connection unexpectedly"),
        DriverError("x", sqlstate="57P01"),
        DriverError("x", sqlstate="40003"),
        DriverError(2013, "Lost connection"),
        ConnectionResetError("reset"),
    ],
)
def test_broken_connection_of_a_commit_is_unknown(error: Exception) -> None:
    assert provider_named("sql").classify(wrapped(error), was_sent=True) is Answer.UNKNOWN


@pytest.mark.parametrize(
    ("error", "becomes", "text"),
    [
        (
            DriverError("permission denied for table iceberg_tables", sqlstate="42501"),
            ForbiddenError,
            'UPDATE.* TO "fl""oe"',
        ),
        (DriverError("permission denied for schema public", sqlstate="42501"), ForbiddenError, "CREATE ON SCHEMA"),
        (DriverError(1142, "UPDATE command denied", sqlstate="42000"), ForbiddenError, "GRANT"),
        (DriverError('FATAL:  password authentication failed for user "x"'), UnauthorizedError, "does not accept user"),
        (DriverError(1045, "Access denied"), UnauthorizedError, "does not accept user"),
    ],
)
def test_refusal_names_what_to_ask_for(error: Exception, becomes: type[Exception], text: str) -> None:
    made = refusal(error, 'fl"oe')
    assert type(made) is becomes
    with pytest.raises(becomes, match=text):
        raise made


def test_other_errors_are_left_as_they_are() -> None:
    assert refusal(DriverError("x", sqlstate="23505")) is None
    assert missing_database(wrapped(DriverError('FATAL:  database "lake" does not exist')))
    assert missing_database(wrapped(DriverError(1049, "Unknown database")))


@pytest.mark.parametrize(
    "text",
    [
        "connection failed: SSL error: certificate verify failed",
        'connection failed: root certificate file "/root/.postgresql/root.crt" does not exist',
        "connection failed: server does not support SSL, but SSL was required",
        '(2003, "Can\'t connect ([SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed)")',
    ],
)
def test_server_that_is_not_trusted_is_a_misconfiguration(text: str) -> None:
    spec = parse_connector({**MINIMAL, "iceberg.catalog.uri": "jdbc:postgresql://h/d"}).catalog
    said = provider_named("sql").misconfiguration(spec, wrapped(DriverError(text)))
    assert said is not None
    assert "sslrootcert" in said
    assert provider_named("sql").misconfiguration(spec, wrapped(DriverError("reset"))) is None


@pytest.fixture
def open_one() -> Callable[..., CatalogClient]:
    def make(**keys: str) -> CatalogClient:
        given = {f"iceberg.catalog.{key.replace('__', '.')}": value for key, value in keys.items()}
        return CatalogClient.of(parse_connector({**MINIMAL, "iceberg.catalog": "lake", **given}))

    return make


def test_missing_driver_is_named_with_its_file(
    open_one: Callable[..., CatalogClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        CatalogMisconfigured, match=r"'psycopg' is not installed here: install airflow-provider-floe\[postgresql\]"
    ):
        open_one(uri="jdbc:postgresql://127.0.0.1:1/d")


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("jdbc:h2:mem:x", "of a database that is not known"),
        ("jdbc:postgresql://127.0.0.1:1/d?sslfactory=x", "jdbc.sslfactory is not translated"),
    ],
)
def test_address_of_the_environment_is_checked_when_opened(
    open_one: Callable[..., CatalogClient], monkeypatch: pytest.MonkeyPatch, uri: str, text: str
) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", uri)
    with pytest.raises(CatalogMisconfigured, match=text):
        open_one()


def test_user_and_address_may_be_of_two_configurations(
    open_one: Callable[..., CatalogClient], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"jdbc:sqlite:{tmp_path}/catalog.db")
    client = open_one(jdbc__user="floe", jdbc__password="secret-word-1")
    assert client.names() == []
    client.catalog.close()
    assert (tmp_path / "catalog.db").exists()


def test_password_is_in_no_error(open_one: Callable[..., CatalogClient]) -> None:
    password = "k3ep:th1s/out @of?errors%"
    with pytest.raises(Exception, match="Connection refused") as failure:
        open_one(uri="jdbc:postgresql://127.0.0.1:1/d", jdbc__user="floe", jdbc__password=password)
    text = "".join(traceback.format_exception(failure.value))
    assert "k3ep" not in text
    assert "th1s" not in text


@pytest.mark.parametrize(
    ("error", "asking", "committing"),
    [
        (DriverError("value too long", sqlstate="22001"), Answer.REFUSED, Answer.REFUSED),
        (DriverError("syntax", sqlstate="42601"), Answer.REFUSED, Answer.REFUSED),
        (DriverError("no iceberg_tables", sqlstate="42P01"), Answer.UNKNOWN, Answer.UNKNOWN),
        (DriverError("admin shutdown", sqlstate="57P01"), Answer.UNREACHABLE, Answer.UNKNOWN),
        (DriverError("broken", sqlstate="XX000"), Answer.UNKNOWN, Answer.UNKNOWN),
        (DriverError(1146, "no iceberg_tables"), Answer.UNKNOWN, Answer.UNKNOWN),
        (DriverError(1290, "read only"), Answer.UNREACHABLE, Answer.UNREACHABLE),
        (sqlite3.OperationalError("attempt to write a readonly database"), Answer.REFUSED, Answer.REFUSED),
        (sqlite3.OperationalError("database is locked"), Answer.UNREACHABLE, Answer.UNKNOWN),
    ],
)
def test_error_of_a_database_is_told_apart(error: Exception, asking: Answer, committing: Answer) -> None:
    of_sqlalchemy = OperationalError("UPDATE x", {}, error)
    assert provider_named("sql").classify(of_sqlalchemy, was_sent=False) is asking
    assert provider_named("sql").classify(of_sqlalchemy, was_sent=True) is committing
