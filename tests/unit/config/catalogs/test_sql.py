"""Catalogs in SQL databases: Java's blocks as they are written, and what is refused of them."""

import re

import pytest
from sqlalchemy.engine import make_url

from floe.config.catalogs.sql import SQL, to_pyiceberg, to_spark
from floe.config.secrets.mask import Mask

PASSWORD = "p@ss:w/rd%+?#&=é 'x\""


def read(connector, given):
    without = () if "type" in given else ("iceberg.catalog.type",)
    made = connector({f"iceberg.catalog.{key}": value for key, value in given.items()}, without)
    return made, made.catalog.for_pyiceberg()


POSTGRESQL = {
    "type": "jdbc",
    "uri": "jdbc:postgresql://db.example.com:5433/lake",
    "jdbc.user": "floe@corp",
    "jdbc.password": PASSWORD,
}


@pytest.mark.parametrize(
    "name", [{"type": "jdbc"}, {"type": "sql"}, {"catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog"}]
)
def test_block_for_java_opens_postgresql(connector, name):
    given = {key: value for key, value in POSTGRESQL.items() if key != "type"}
    made, settings = read(connector, {**given, **name, "jdbc.schema-version": "V1", "jdbc.sslmode": "verify-full"})
    url = make_url(settings["uri"])
    assert (made.catalog.type, made.warnings) == ("sql", ())
    assert (url.drivername, url.username, url.password) == ("postgresql+psycopg", "floe@corp", PASSWORD)
    assert (url.host, url.port, url.database, dict(url.query)) == (
        *("db.example.com", 5433, "lake"),
        {"sslmode": "verify-full"},
    )
    assert {key: value for key, value in settings.items() if key != "uri"} == {
        "type": "sql",
        "schema_version": "v1",
        "pool_pre_ping": "true",
    }


def test_block_of_icebergs_documentation_opens_mysql(connector):
    _, settings = read(
        connector,
        {
            "type": "jdbc",
            "warehouse": "s3://my-bucket/my/key/prefix",
            "uri": "jdbc:mysql://test.1234567890.us-west-2.rds.amazonaws.com:3306/default",
            "jdbc.verifyServerCertificate": "true",
            "jdbc.useSSL": "true",
            "jdbc.user": "admin",
            "jdbc.password": "pass",
        },
    )
    assert settings["uri"] == (
        "mysql+pymysql://admin:pass@test.1234567890.us-west-2.rds.amazonaws.com:3306/default?ssl_verify_cert=true"
    )


@pytest.mark.parametrize(
    ("address", "more", "expected"),
    [
        ("jdbc:postgresql:lake", {}, "postgresql+psycopg://localhost/lake"),
        ("jdbc:postgresql://[::1]:5/my%20db", {}, "postgresql+psycopg://[::1]:5/my%20db"),
        ("jdbc:postgresql://h/d?user=u&password=p%26q", {}, "postgresql+psycopg://u:p%26q@h/d"),
        ("jdbc:postgresql://h/d", {"ssl": "true"}, "postgresql+psycopg://h/d?sslmode=verify-full"),
        ("jdbc:postgresql://h/d", {"ssl": "false"}, "postgresql+psycopg://h/d"),
        ("jdbc:postgresql://h/d?sslmode=require", {"sslmode": "disable"}, "postgresql+psycopg://h/d?sslmode=require"),
        (
            "jdbc:postgresql://a:1,b:2/d?targetServerType=primary",
            {},
            "postgresql+psycopg:///d?host=a:1&host=b:2&target_session_attrs=primary",
        ),
        ("jdbc:postgresql://h/d", {"currentSchema": "ice"}, "postgresql+psycopg://h/d?options=-csearch_path%3Dice"),
        ("jdbc:mysql://h/d", {}, "mysql+pymysql://h/d"),
        ("jdbc:mysql://h/d", {"sslMode": "VERIFY_CA"}, "mysql+pymysql://h/d?ssl_verify_cert=true"),
        ("jdbc:mysql://h/d", {"useSSL": "true", "requireSSL": "true"}, "mysql+pymysql://h/d?ssl_verify_cert=false"),
        ("jdbc:mysql://h/d", {"sslMode": "disabled", "useSSL": "true"}, "mysql+pymysql://h/d?ssl_disabled=true"),
        ("jdbc:mysql://h/d", {"useSSL": "false"}, "mysql+pymysql://h/d?ssl_disabled=true"),
        ("jdbc:sqlite:/folder/a b.db", {"busy_timeout": "5000"}, "sqlite:////folder/a%20b.db?timeout=5"),
        ("jdbc:sqlite:file:/folder/a.db", {}, "sqlite:////folder/a.db"),
    ],
)
def test_address_of_java_is_sqlalchemys(connector, address, more, expected):
    given = {"type": "jdbc", "uri": address, **{f"jdbc.{key}": value for key, value in more.items()}}
    assert read(connector, given)[1]["uri"] == expected
    make_url(expected)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            {"uri": "jdbc:h2:mem:x"},
            "of a database that is not known, jdbc:h2: set jdbc:postgresql://, jdbc:mysql:// or",
        ),
        ({"uri": "jdbc:sqlserver://h;user=x;password=hidden-secret"}, "not known, jdbc:sqlserver: set .* mssql"),
        ({"uri": "jdbc:sqlite::memory:"}, "in memory"),
        ({"uri": "jdbc:postgresql://u:hidden-secret@h/d"}, "set jdbc.user and jdbc.password"),
        ({"uri": "jdbc:postgresql://h/d?sslfactory=x"}, "jdbc.sslfactory is not translated for postgresql: remove it"),
        ({"uri": "jdbc:postgresql://h/d", "jdbc.useSSL": "true"}, "jdbc.useSSL is not translated .* jdbc.sslmode"),
        ({"uri": "jdbc:postgresql://h/d", "jdbc.sslfactory": "x"}, "jdbc.sslfactory is refused: floe knows no such"),
        ({"uri": "jdbc:postgresql://h/d", "jdbc.targetServerType": "x"}, "jdbc.targetServerType has a value"),
        ({"uri": "jdbc:mysql://h/d", "jdbc.sslMode": "VERIFY_IDENTITY"}, "needs the authority's certificate"),
        ({"uri": "jdbc:mysql://h/d", "jdbc.sslMode": "x"}, "jdbc.sslMode is none of DISABLED"),
        ({"uri": "postgresql://h/d", "jdbc.user": "x"}, "jdbc.user goes with an address of JDBC"),
        ({"uri": "postgres://h/d"}, "of no database that SQLAlchemy has"),
        ({"uri": "jdbc:sqlite:/x", "jdbc.schema-version": "V2"}, "set V0 or V1"),
    ],
)
def test_what_has_no_counterpart_is_refused(problems, given, text):
    (problem,) = problems({f"iceberg.catalog.{key}": value for key, value in {"type": "jdbc", **given}.items()})
    assert re.search(text, problem)
    assert "hidden-secret" not in problem


@pytest.mark.parametrize("key", ["clients", "jdbc.strict-mode", "jdbc.prepareThreshold", "jdbc.socketTimeout"])
def test_what_only_java_needs_is_warned_of(connector, key):
    made, settings = read(connector, {**POSTGRESQL, key: "1"})
    assert made.warnings[0].startswith(f"iceberg.catalog.{key} has no effect")
    assert key not in settings


def test_address_in_the_environment_waits_for_it():
    made = to_pyiceberg({"jdbc.user": "u", "jdbc.password": "p"})
    assert made == {"jdbc.user": "u", "jdbc.password": "p"}
    assert to_pyiceberg({**made, "uri": "jdbc:postgresql://h/d"})["uri"] == "postgresql+psycopg://u:p@h/d"
    again = to_pyiceberg(to_pyiceberg({**made, "uri": "jdbc:postgresql://h/d"}))
    assert again == {"uri": "postgresql+psycopg://u:p@h/d", "pool_pre_ping": "true"}


@pytest.mark.parametrize("uri", ["${env:URI}", "jdbc:postgresql://h/d"])
def test_references_are_not_judged(uri):
    given = {"uri": uri, "jdbc.user": "${env:U}", "jdbc.ssl": "${env:S}", "jdbc.schema-version": "${env:V}"}
    assert list(SQL.problems(given)) == []


def test_address_that_cannot_be_read_is_kept_for_the_message():
    given = {"uri": "jdbc:h2:x", "jdbc.password": "p"}
    assert to_pyiceberg(given) == given
    assert len(list(SQL.problems(given))) == 1


def test_spark_gets_javas_names():
    assert to_spark({**POSTGRESQL, "type": "sql"}) == POSTGRESQL
    given = {
        "type": "sql",
        "uri": "postgresql+psycopg://floe%40corp:a%2Fb@h:5/lake?sslmode=require",
        "schema_version": "v1",
    }
    assert to_spark(given) == {
        "type": "jdbc",
        "uri": "jdbc:postgresql://h:5/lake?sslmode=require",
        "jdbc.user": "floe@corp",
        "jdbc.password": "a/b",
        "jdbc.schema-version": "v1",
    }
    assert to_spark({"uri": "sqlite:////folder/x.db", "pool_pre_ping": "true"})["uri"] == "jdbc:sqlite:/folder/x.db"


def test_password_is_hidden_however_it_is_spelt():
    settings = to_pyiceberg(POSTGRESQL)
    mask = Mask.of(settings)
    for text in (settings["uri"], PASSWORD, f"connection to {settings['uri']} failed", repr(settings)):
        assert PASSWORD not in mask.hide(text)
        assert "p%40ss" not in mask.hide(text)
