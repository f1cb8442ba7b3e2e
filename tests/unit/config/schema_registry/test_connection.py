"""The options that an Airflow connection to a schema registry means."""

from __future__ import annotations

from typing import Any

import pytest

from floe.config.schema_registry.connection import RegistryConnection
from floe.config.schema_registry.settings import Api

CONFLUENT, APICURIO = "schema.registry.url", "apicurio.registry.url"
SOURCE, USER_INFO = "basic.auth.credentials.source", "basic.auth.user.info"


def connection(**fields: Any) -> RegistryConnection:
    return RegistryConnection("r", **fields)


@pytest.mark.parametrize(
    ("fields", "address"),
    [
        ({}, ""),
        ({"host": "r"}, "http://r"),
        ({"host": "r", "port": 8081, "schema": "https"}, "https://r:8081"),
        ({"host": "r", "port": 8081, "conn_type": "https"}, "https://r:8081"),
        ({"host": "r", "port": 8080, "schema": "apis/ccompat/v7"}, "http://r:8080/apis/ccompat/v7"),
        ({"host": "https://r/apis/ccompat/v7", "port": 8443}, "https://r:8443/apis/ccompat/v7"),
        ({"host": "https://r:1/x", "port": 8443}, "https://r:1/x"),
        ({"host": "::1", "port": 8081}, "http://[::1]:8081"),
    ],
)
def test_address_is_read_as_airflows_http_hook_does(fields: dict[str, Any], address: str) -> None:
    assert connection(**fields).address == address


@pytest.mark.parametrize(
    ("api", "fields", "options"),
    [
        ("confluent", {"login": "u", "password": "p"}, {SOURCE: "USER_INFO", USER_INFO: "u:p"}),
        (
            "confluent",
            {"password": "t"},
            {"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": "t"},
        ),
        ("apicurio", {"login": "u", "password": "p"}, {"apicurio.auth.username": "u", "apicurio.auth.password": "p"}),
        ("confluent", {"extra": {"ssl.ca.location": "/ca.pem"}}, {"ssl.ca.location": "/ca.pem"}),
        ("confluent", {"extra": {"max.retries": 5, "a": {"b": 1}, "c": True}}, {"max.retries": "5", "c": "true"}),
    ],
)
def test_login_token_and_extra_are_options(api: Api, fields: dict[str, Any], options: dict[str, str]) -> None:
    url = {"confluent": CONFLUENT, "apicurio": APICURIO}[api]
    assert connection(host="r", **fields).options(api, {}) == {url: "http://r", **options}


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({CONFLUENT: "http://own"}, {SOURCE: "USER_INFO", USER_INFO: "u:p"}),
        ({f"schema.registry.{CONFLUENT}": "http://own"}, {SOURCE: "USER_INFO", USER_INFO: "u:p"}),
        ({CONFLUENT: "http://a:b@own"}, {}),
        ({SOURCE: "URL"}, {CONFLUENT: "http://r"}),
        ({SOURCE: "USER_INFO"}, {CONFLUENT: "http://r", USER_INFO: "u:p"}),
        ({f"schema.registry.{SOURCE}": "USER_INFO", USER_INFO: "a:b"}, {CONFLUENT: "http://r"}),
        ({"bearer.auth.token": "t"}, {CONFLUENT: "http://r"}),
    ],
)
def test_options_of_a_connector_count_over_it(given: dict[str, str], taken: dict[str, str]) -> None:
    assert connection(host="r", login="u", password="p").options("confluent", given) == taken


def test_an_extra_counts_over_host_and_login() -> None:
    extra = {CONFLUENT: "http://a,http://b", "bearer.auth.token": "t"}
    assert connection(host="r", login="u", password="p", extra=extra).options("confluent", {}) == extra


def test_an_apicurio_option_counts_in_either_spelling() -> None:
    extra = {"apicurio.auth.username": "u", "apicurio.rest.request.ssl.truststore.location": "/a.pem"}
    given = {"apicurio.registry.auth.username": "x", "apicurio.registry.request.ssl.truststore.location": "/b.pem"}
    assert connection(extra=extra).options("apicurio", given) == {}


def test_a_registry_connection_shows_no_secret() -> None:
    made = connection(host="http://u:secret-a@r", login="l", password="secret-b", extra={"x": "secret-c"})
    assert "secret" not in repr(made)
