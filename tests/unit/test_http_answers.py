"""Answers without an end, and numbers without sense: of a registry, of a REST catalog, and of the logins to both."""

from __future__ import annotations

import math
import socket
from time import monotonic
from typing import Any

import pytest
from botocore.config import Config
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, PoolManager
from urllib3.connection import HTTPConnection

from floe.catalogs.client import CatalogClient
from floe.catalogs.exceptions import CatalogUnreachable
from floe.catalogs.providers.rest.transport import TimedAdapter
from floe.config import parse_connector
from floe.config.schema_registry.settings import RegistryLimits
from floe.http_answers import Deadline, TimedResponse, seconds_of
from floe.schema_registry.transport import Transport
from tests.support.connectors import MINIMAL
from tests.support.registry.double import Reply, as_json, serving
from tests.support.slow_server import BEGINNINGS, dripping

LIMIT = 0.4
SOON = 5.0
"""Well above the limit on a busy machine, and below what a byte each 50 ms would take."""
PARTS = sorted(BEGINNINGS)
BRIEF = {"connect_timeout": 0.1, "read_timeout": 0.3}
"""Of a client of AWS, in seconds."""


def tables(**keys: Any) -> CatalogClient:
    limits = {
        "rest.client.connection-timeout-ms": "100",
        "rest.client.socket-timeout-ms": "300",
        "rest.client.max-retries": "0",
    }
    given = {"type": "rest", **limits, **keys}
    named = {f"iceberg.catalog.{key}": value for key, value in given.items()}
    return CatalogClient.of(parse_connector({**MINIMAL, "iceberg.catalog": "lake", **named}))


@pytest.mark.parametrize("part", PARTS)
def test_registrys_answer_without_an_end_is_given_up_in_time(part: str) -> None:
    transport = Transport(RegistryLimits(connect_timeout=LIMIT / 4, read_timeout=LIMIT * 3 / 4))
    with dripping(part) as address:
        begun = monotonic()
        with pytest.raises(TimeoutError):
            transport.request(f"{address}/schemas/ids/1", {}, None)
        with pytest.raises(TimeoutError):
            transport.request(f"{address}/token", {}, None, b"grant_type=client_credentials")
        assert monotonic() - begun < SOON


@pytest.mark.parametrize("part", PARTS)
def test_catalogs_answer_without_an_end_is_an_outage_in_time(part: str) -> None:
    with dripping(part) as address:
        begun = monotonic()
        with pytest.raises(CatalogUnreachable, match="timed out"):
            tables(uri=address)
        assert monotonic() - begun < SOON


@pytest.mark.parametrize("part", PARTS)
def test_answer_of_a_catalogs_login_without_an_end_is_an_outage_in_time(part: str) -> None:
    with dripping(part) as login, serving(as_json({})) as catalog:
        begun = monotonic()
        with pytest.raises(CatalogUnreachable, match="timed out"):
            tables(uri=catalog.url, **{"credential": "id:a-secret-of-test", "oauth2-server-uri": f"{login}/token"})
        assert monotonic() - begun < SOON
        assert catalog.requests == []


@pytest.mark.parametrize("part", PARTS)
def test_answer_of_glue_without_an_end_is_an_outage_in_time(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("botocore.config.Config.OPTION_DEFAULTS", {**Config.OPTION_DEFAULTS, **BRIEF})
    with dripping(part) as address:
        begun = monotonic()
        with pytest.raises(CatalogUnreachable, match="could not load table"):
            glue(address).load("db.t")
        assert monotonic() - begun < 4 * SOON


def test_endless_answer_of_glue_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("floe.catalogs.providers.glue.catalog.MAX_ANSWER", 10_000)
    with serving(Reply(200, b'{"Table": "' + b"x" * 100_000)) as server, pytest.raises(CatalogUnreachable):
        glue(server.url).load("db.t")


def glue(address: str) -> CatalogClient:
    keys = {"glue.region": "eu-west-1", "glue.access-key-id": "a", "glue.secret-access-key": "a-secret-of-glue"}
    given = {"type": "glue", "warehouse": "s3://b/w", "glue.endpoint": address, "glue.max-retries": "1", **keys}
    named = {f"iceberg.catalog.{key}": value for key, value in given.items()}
    return CatalogClient.of(parse_connector({**MINIMAL, **named}))


def test_proxy_without_an_end_is_given_up_in_time() -> None:
    with dripping("header") as address:
        host, _, port = address.removeprefix("http://").partition(":")
        proxy = {"rest.client.proxy.hostname": host, "rest.client.proxy.port": port}
        begun = monotonic()
        for uri in ("http://catalog.example", "https://catalog.example"):
            with pytest.raises(CatalogUnreachable):
                tables(uri=uri, **proxy)
        assert monotonic() - begun < SOON


def test_connection_that_is_kept_has_its_own_time_limit_again() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, Deadline(2.0):
        ours.settimeout(30.0)
        theirs.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        answer = TimedResponse(ours)
        answer.begin()
        assert answer.read() == b"{}"
        assert ours.gettimeout() == 30.0


def test_proxy_of_another_kind_keeps_its_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """urllib3's manager for SOCKS, whose package may be missing, has pools of its own."""

    class SocksConnection(HTTPConnection):
        pass

    class SocksPool(HTTPConnectionPool):
        ConnectionCls = SocksConnection

    def manager_for(*_: Any, **__: Any) -> PoolManager:
        manager = PoolManager()
        manager.pool_classes_by_scheme = {"http": SocksPool}
        return manager

    monkeypatch.setattr(HTTPAdapter, "proxy_manager_for", manager_for)
    adapter = TimedAdapter()
    for _ in range(2):  # requests keeps the manager
        pool = adapter.proxy_manager_for("socks5://proxy.example").connection_from_url("http://catalog.example")
        assert isinstance(pool, SocksPool)
        assert issubclass(pool.ConnectionCls, SocksConnection)
        assert issubclass(pool.ConnectionCls.response_class, TimedResponse)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "soon",
        "-1",
        0,
        -5,
        math.nan,
        math.inf,
        "NaN",
        "1e400",
        10**400,
        "9" * 4000,
        [],
        {},
        True is None,
        "0x10",
    ],
)
def test_lifetime_that_makes_no_sense_is_the_default(value: object) -> None:
    assert seconds_of(value, 300.0) == 300.0


@pytest.mark.parametrize(("value", "seconds"), [(60, 60.0), ("3600", 3600.0), (1.5, 1.5), (10**8, 1e8)])
def test_lifetime_that_makes_sense_is_taken(value: object, seconds: float) -> None:
    assert seconds_of(value, 300.0) == seconds
