"""Which addresses a connector made by REST may name: those of the operator's list, in a form that has one reading."""

from __future__ import annotations

import pytest

from floe.config.stored.operator_lists import HostList

HOSTS = HostList.of("broker-*.example.com:9092, catalog.example:8181,https://store.example, s3://lake,any.example:*")


@pytest.mark.parametrize(
    "text",
    [
        "broker-1.example.com:9092,broker-22.example.com:9092",
        "SASL_SSL://broker-1.example.com:9092",
        "http://catalog.example:8181/v1/path",
        "jdbc:postgresql://catalog.example:8181/db",
        "https://store.example",
        "https://STORE.example:443/",
        "s3://lake/warehouse/a=b",
        "any.example:1",
        "any.example",
    ],
)
def test_listed_address_is_allowed(text: str) -> None:
    assert HOSTS.problem(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "broker-1.example.com:9093",
        "broker-1.example.com",
        "broker-1.example.com:9092,evil.example:9092",
        "http://store.example",
        "https://store.example:8443",
        "s3a://lake/x",
        "s3://lake2/x",
        "catalog.example.evil.example:8181",
        "catalog.example.:8181",
        "http://169.254.169.254/latest",
    ],
)
def test_other_address_is_refused_with_variable(text: str) -> None:
    assert "FLOE_REST_HOSTS" in (HOSTS.problem(text) or "")


@pytest.mark.parametrize(
    "text",
    [
        "http://catalog.example:8181@evil.example/",
        "http://user:password@catalog.example:8181",
        "http://catalog.example:8181\\@evil.example",
        "http://catalog.example:8181#@evil.example",
        "http://catalog.example:8181?host=evil.example",
        "jdbc:postgresql://catalog.example:8181/db?socketFactory=evil",
        "http://catalog.example:8181/../x",
        "http://catalog.example:8181/%2e%2e",
        "file:///etc/passwd",
        "file://catalog.example:8181/etc/passwd",
        "sqlite:////tmp/x.db",
        "jdbc:sqlite://catalog.example:8181/x",
        "",
        "http://",
        "http://cätalog.example:8181",
        "http://catalog.example:8181\n.evil.example",
        "catalog.example:8181 evil.example",
    ],
)
def test_address_that_may_be_read_in_two_ways_is_none(text: str) -> None:
    assert "is no address" in (HOSTS.problem(text) or "")


@pytest.mark.parametrize(
    "text",
    [
        "http://floe:kanary-1@catalog.example:8181",
        "http://floe:kanary%40kanary@catalog.example:8181",
        "http://catalog.example:8181/?token=kanary-1",
        "floe:kanary-1@catalog.example:8181",
    ],
)
def test_secret_of_an_address_is_not_quoted(text: str) -> None:
    problem = HOSTS.problem(text) or ""
    assert ("is no address" in problem, "kanary" in problem) == (True, False)


def test_empty_list_allows_nothing() -> None:
    assert HostList.of("").problem("any.example") is not None


def test_pattern_has_no_sets_of_characters() -> None:
    assert HostList.of("[::1]:9092").problem("[::1]:9092") is None
    assert HostList.of("[ab].example").problem("a.example") is not None
