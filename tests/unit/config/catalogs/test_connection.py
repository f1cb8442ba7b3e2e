"""The properties that Airflow connections to catalogs and to AWS mean."""

from __future__ import annotations

from typing import Any

import pytest

from floe.config.catalogs.connection import aws_properties, catalog_properties
from floe.config.connection_fields import ConnectionFields

KEYS = {"login": "key-id", "password": "s3cret"}
CLIENT = {"client.access-key-id": "key-id", "client.secret-access-key": "s3cret"}


def connection(**fields: Any) -> ConnectionFields:
    return ConnectionFields("c", **fields)


@pytest.mark.parametrize(
    ("kind", "fields", "properties"),
    [
        (
            "rest",
            {"host": "https://h/ws/v1", "login": "id", "password": "p"},
            {"uri": "https://h/ws/v1", "credential": "id:p"},
        ),
        (
            "rest",
            {"host": "h", "port": 8181, "schema": "https", "password": "pat"},
            {"uri": "https://h:8181", "token": "pat"},
        ),
        ("rest", {"host": "h"}, {"uri": "http://h"}),
        (
            "rest",
            {"login": "u", "password": "p", "extra": {"rest.auth.type": "basic"}},
            {"rest.auth.type": "basic", "rest.auth.basic.username": "u", "rest.auth.basic.password": "p"},
        ),
        ("rest", {"login": "u", "password": "p", "extra": {"token": "t"}}, {"token": "t"}),
        (
            "rest",
            {"host": "h", "extra": {"warehouse": "wh", "token-refresh-enabled": True, "odd": {"a": 1}}},
            {"uri": "http://h", "warehouse": "wh", "token-refresh-enabled": "true"},
        ),
        (
            "sql",
            {"conn_type": "postgres", "host": "db", "port": 5432, "schema": "ice", "login": "u", "password": "p@/:"},
            {"uri": "jdbc:postgresql://db:5432/ice", "jdbc.user": "u", "jdbc.password": "p@/:"},
        ),
        ("hive", {"conn_type": "hive_metastore", "host": "ms", "port": 9083}, {"uri": "thrift://ms:9083"}),
        ("glue", {"extra": {"glue.id": "123"}}, {"glue.id": "123"}),
    ],
)
def test_connection_means_properties_of_its_catalog(
    kind: str, fields: dict[str, Any], properties: dict[str, str]
) -> None:
    assert catalog_properties(connection(**fields), kind, {"type": kind}) == properties


@pytest.mark.parametrize(
    "given", [{"uri": "http://own"}, {"token": "own"}, {"credential": "own:own"}, {"rest.auth.type": "sigv4"}]
)
def test_connector_counts_over_its_catalogs_connection(given: dict[str, str]) -> None:
    made = catalog_properties(connection(host="h", login="id", password="p"), "rest", given)
    assert made.keys().isdisjoint(given)
    assert ("credential" in made) is ("uri" in given)


def test_printed_connection_shows_no_secret() -> None:
    assert "s3cret" not in repr(connection(**KEYS, extra={"aws_session_token": "s3cret"}))


@pytest.mark.parametrize(
    ("extra", "properties"),
    [
        ({}, {}),
        ({"region_name": "eu-central-1"}, {"client.region": "eu-central-1"}),
        ({"aws_session_token": "tok"}, {"client.session-token": "tok"}),
        ({"role_arn": "arn:aws:iam::1:role/x"}, {"client.role-arn": "arn:aws:iam::1:role/x"}),
        ({"endpoint_url": "http://minio:9000"}, {"s3.endpoint": "http://minio:9000"}),
        (
            {"service_config": {"s3": {"endpoint_url": "http://s"}, "glue": {"endpoint_url": "http://g"}, "sns": {}}},
            {"s3.endpoint": "http://s", "glue.endpoint": "http://g"},
        ),
    ],
)
def test_aws_connection_means_iceberg_properties(extra: dict[str, Any], properties: dict[str, str]) -> None:
    assert aws_properties(connection(**KEYS, extra=extra), {}) == ({**CLIENT, **properties}, ())


@pytest.mark.parametrize("own", ["s3.access-key-id", "client.secret-access-key", "glue.session-token"])
def test_parts_of_two_aws_logins_are_not_mixed(own: str) -> None:
    made, _ = aws_properties(connection(**KEYS, extra={"aws_session_token": "t", "region_name": "r"}), {own: "mine"})
    assert made == {"client.region": "r"}


def test_region_of_a_service_counts_over_the_connection() -> None:
    assert aws_properties(connection(extra={"region_name": "r"}), {"s3.region": "own"}) == ({}, ())


def test_aws_extra_without_effect_is_named() -> None:
    assert aws_properties(connection(extra={"config_kwargs": {}, "verify": False}), {})[1] == (
        "config_kwargs",
        "verify",
    )
