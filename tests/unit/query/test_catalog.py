"""A connector's catalog as Spark has it, and the jars that it needs."""

from __future__ import annotations

from typing import Any

import pytest

from floe.config import parse_connector
from floe.query.catalog import AWS_BUNDLE, BUNDLES, DRIVERS, RUNTIME, SparkCatalog
from floe.query.exceptions import QueryRefused
from tests.support.connectors import MINIMAL

SQLITE, POSTGRESQL, MYSQL = DRIVERS.values()
PREFIX = "iceberg.catalog."


def catalog(kind: str, known: dict[str, Any] | None = None, **properties: str) -> SparkCatalog:
    """Return a connector's catalog; names of properties have underscores for dots, two for dashes."""
    kept = {key: value for key, value in MINIMAL.items() if not key.startswith(PREFIX)}
    own = {PREFIX + key.replace("__", "-").replace("_", "."): value for key, value in properties.items()}
    keys = {**kept, "iceberg.catalog": "lake", f"{PREFIX}type": kind, **own}
    return SparkCatalog.of(parse_connector(keys).catalog, known)


def test_sqlite_is_jdbcs_and_only_read() -> None:
    one = catalog("sql", uri="sqlite:////floe/catalog.db", warehouse="file:///floe/warehouse")
    assert one.conf() == {
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "jdbc",
        "spark.sql.catalog.lake.uri": "jdbc:sqlite:/floe/catalog.db",
        "spark.sql.catalog.lake.warehouse": "file:///floe/warehouse",
        "spark.sql.catalog.lake.jdbc.init-catalog-tables": "false",
        "spark.sql.catalog.lake.jdbc.open_mode": "1",
        "spark.sql.catalog.lake.jdbc.busy_timeout": "30000",
    }
    assert one.packages == (RUNTIME, SQLITE)


def test_postgresql_is_only_read_and_not_altered() -> None:
    own = {"jdbc_user": "floe", "jdbc_password": "a@b-secret", "jdbc_schema__version": "V1"}
    one = catalog("sql", uri="jdbc:postgresql://db:5432/lake", warehouse="s3://lake/wh", **own)
    made = one.properties
    assert (made["uri"], made["jdbc.user"], made["jdbc.password"]) == (
        "jdbc:postgresql://db:5432/lake",
        "floe",
        "a@b-secret",
    )
    assert (made["jdbc.readOnly"], made["jdbc.readOnlyMode"]) == ("true", "always")
    assert "jdbc.schema-version" not in made and "a@b-secret" not in repr(one)
    assert one.packages == (RUNTIME, POSTGRESQL, AWS_BUNDLE)


def test_mysql_has_its_driver() -> None:
    one = catalog("jdbc", uri="jdbc:mysql://db/lake", warehouse="/lake")
    assert one.packages == (RUNTIME, MYSQL)
    assert one.properties["io-impl"] == "org.apache.iceberg.io.ResolvingFileIO"


def test_rest_asks_for_credentials_as_floe_does() -> None:
    one = catalog("rest", uri="http://127.0.0.1:8181", warehouse="lake", credential="id:secret")
    assert dict(one.properties) == {
        "type": "rest",
        "uri": "http://127.0.0.1:8181",
        "warehouse": "lake",
        "credential": "id:secret",
        "header.X-Iceberg-Access-Delegation": "vended-credentials",
    }
    assert one.packages == (RUNTIME,)


@pytest.mark.parametrize("keys", [{"rest_sigv4__enabled": "true"}, {"rest_auth_type": "sigv4"}])
def test_rest_with_signatures_needs_awss_client(keys: dict[str, str]) -> None:
    assert catalog("rest", uri="https://x", **keys).packages == (RUNTIME, AWS_BUNDLE)


def test_nessie_is_asked_at_the_endpoint_that_floe_uses() -> None:
    at = {"uri": "http://nessie:19120/api/v1", "ref": "etl", "warehouse": "wh"}
    one = catalog("nessie", authentication_type="BEARER", authentication_token="a-token", **at)
    assert dict(one.properties) == {
        "type": "rest",
        "uri": "http://nessie:19120/iceberg/etl",
        "warehouse": "wh",
        "token": "a-token",
        "header.X-Iceberg-Access-Delegation": "vended-credentials",
    }
    basic = {"authentication_type": "BASIC", "authentication_username": "u", "authentication_password": "p"}
    made = catalog("nessie", **at, **basic).properties
    assert {key: made[key] for key in made if "auth" in key} == {
        "rest.auth.type": "basic",
        "rest.auth.basic.username": "u",
        "rest.auth.basic.password": "p",
    }
    oauth = {"client__id": "a", "client__secret": "b", "token__endpoint": "http://x/token"}
    keys = {f"authentication_oauth2_{key}": value for key, value in oauth.items()}
    made = catalog("nessie", **at, **keys, authentication_type="OAUTH2").properties
    assert (made["credential"], made["oauth2-server-uri"]) == ("a:b", "http://x/token")


def test_address_that_is_none_of_nessie_is_refused() -> None:
    with pytest.raises(QueryRefused, match="'lake': uri is no address of Nessie"):
        catalog("nessie", {"uri": "http://nessie"})


def test_hive_and_hadoop_have_javas_catalogs() -> None:
    hive = catalog("hive", uri="thrift://a:9083,thrift://b:9083", warehouse="gs://lake/wh")
    assert (hive.properties["type"], hive.properties["uri"]) == ("hive", "thrift://a:9083,thrift://b:9083")
    assert hive.packages == (RUNTIME, BUNDLES["gs"])
    hadoop = catalog("hadoop", warehouse="file:///lake")
    assert dict(hadoop.properties) == {"type": "hadoop", "warehouse": "file:///lake"}


def test_glue_gets_its_keys_by_the_jvm() -> None:
    keys = {"glue_access__key__id": "AKIA", "glue_secret__access__key": "hidden", "glue_region": "eu-west-1"}
    one = catalog("glue", warehouse="s3://lake/wh", **keys)
    assert one.system == {"aws.accessKeyId": "AKIA", "aws.secretAccessKey": "hidden"}
    assert one.properties["client.region"] == "eu-west-1" and "hidden" not in repr(one)
    assert one.packages == (RUNTIME, AWS_BUNDLE)


def test_keys_of_s3_are_by_javas_names() -> None:
    own = {
        "client_access__key__id": "A",
        "client_secret__access__key": "B",
        "client_role__arn": "arn:x",
        "client_region": "eu-west-1",
        "s3_endpoint": "http://minio:9000",
        "s3_force__virtual__addressing": "true",
    }
    made = catalog("rest", uri="http://x", warehouse="lake", **own).properties
    assert {key: made[key] for key in made if key.startswith(("s3.", "client."))} == {
        "s3.access-key-id": "A",
        "s3.secret-access-key": "B",
        "s3.endpoint": "http://minio:9000",
        "s3.path-style-access": "false",
        "client.region": "eu-west-1",
        "client.assume-role.arn": "arn:x",
        "client.assume-role.region": "eu-west-1",
        "client.factory": "org.apache.iceberg.aws.AssumeRoleAwsClientFactory",
    }


def test_environment_of_pyiceberg_counts_below_the_connector() -> None:
    known = {"uri": "http://known", "token": "of-the-environment", "py-io-impl": "x.Y"}
    made = catalog("rest", known, uri="http://own").properties
    assert (made["uri"], made["token"]) == ("http://own", "of-the-environment")
    assert "py-io-impl" not in made


@pytest.mark.parametrize(
    ("kind", "known", "properties", "message"),
    [
        ("rest", {}, {}, "'lake' is not in the connector: set iceberg.cat.* PYICEBERG_CATALOG__LAKE__URI"),
        ("rest", {"auth": {"type": "custom"}}, {"uri": "http://x"}, "its login is `auth` of PyIceberg's own"),
        ("rest", {"rest.auth.type": "entra"}, {"uri": "http://x"}, "its login is rest.auth.type 'entra'"),
        ("sql", {}, {"uri": "oracle://db/x"}, "its address is of 'oracle', and queries know the drivers of SQLite"),
        ("sql", {"uri": "${env:URI}"}, {}, r"iceberg\.catalog\.uri is a reference"),
    ],
)
def test_catalog_that_spark_cannot_reach_says_why(
    kind: str, known: dict[str, Any], properties: dict[str, str], message: str
) -> None:
    with pytest.raises(QueryRefused, match=message):
        catalog(kind, known, **properties)


def test_catalog_with_a_name_that_spark_has_not_is_refused() -> None:
    with pytest.raises(QueryRefused, match="'my lake' cannot be queried: in Spark a catalog's name has ASCII"):
        SparkCatalog.of(parse_connector({**MINIMAL, "iceberg.catalog": "my lake"}).catalog)
