"""What a REST catalog, or a server in its place, may answer: each bad answer is a clear error, and no secret is in a text."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from floe.catalogs.client import CatalogClient
from floe.catalogs.exceptions import (
    CatalogError,
    CatalogLoginRefused,
    CatalogMisconfigured,
    CatalogUnreachable,
    TableUnsuitable,
)
from floe.catalogs.providers.rest import transport as rest_transport
from floe.config import parse_connector
from tests.support.connectors import MINIMAL
from tests.support.registry.double import Double, Reply, Request, as_json, one_after_the_other, serving

START = "iceberg.catalog."
SECRET = "CANARY-of-the-client-1"
CONFIG = as_json({"defaults": {}, "overrides": {}})
HTML = Reply(200, b"<!doctype html><title>Sign in</title>", {"Content-Type": "text/html"})
TOKEN = as_json({"access_token": "CANARY-token-of-login", "token_type": "bearer", "expires_in": 3600})


@pytest.fixture
def server() -> Iterator[Double]:
    with serving(CONFIG) as double:
        yield double


@pytest.fixture
def login() -> Iterator[Double]:
    with serving(TOKEN) as double:
        yield double


@pytest.fixture
def opened(server: Double) -> Callable[..., CatalogClient]:
    def make(**over: object) -> CatalogClient:
        keys = {"type": "rest", "uri": server.url, "rest.client.max-retries": "0", **over}
        named = {f"{START}{key}": value for key, value in keys.items()}
        return CatalogClient.of(parse_connector({**MINIMAL, "iceberg.catalog": "lake", **named}))

    return make


def text_of(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


# -- the catalog ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "expected", "text"),
    [
        (HTML, CatalogMisconfigured, r"answers with text/html, not with JSON \('<!doctype.*as a proxy"),
        (Reply(502, b"<html>" + b"x" * 9_000), CatalogUnreachable, "HTTP 502: no JSON"),
        (Reply(404, b"nothing here"), CatalogMisconfigured, r"HTTP 404: no JSON.*Check iceberg\.catalog\.uri"),
        (as_json({"error_code": 403, "message": "Invalid access token."}, 403), CatalogMisconfigured, "Invalid access"),
        (as_json({"error_code": 401, "message": "Token gone."}, 401), CatalogLoginRefused, "401: Token gone.*credentials"),
        (as_json({"defaults": None, "overrides": None}), CatalogMisconfigured, "null or another type"),
        (as_json({"defaults": [1]}), CatalogMisconfigured, "not understood: defaults"),
        (as_json({"endpoints": ["STEAL /v1/x"]}), CatalogMisconfigured, "not understood: endpoints"),
        (as_json([1]), CatalogMisconfigured, "not understood"),
        (Reply(200, b'{"defaults": {'), CatalogUnreachable, "could not open"),
        (Reply(200, b"{}", length=9_000), CatalogUnreachable, "could not open"),
    ],
)  # fmt: skip
def test_bad_answer_of_config_is_a_clear_error(
    server: Double, opened: Callable[..., CatalogClient], reply: Reply, expected: type[Exception], text: str
) -> None:
    server.answers = lambda _: reply
    with pytest.raises(expected, match=text) as caught:
        opened(token=SECRET)
    assert len(str(caught.value)) < 1_000
    assert SECRET not in text_of(caught.value)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_takes_the_token_nowhere(server: Double, opened: Callable[..., CatalogClient], status: int) -> None:
    with serving(CONFIG) as other:
        server.answers = lambda _: Reply(status, b"", {"Location": f"{other.url}/x?token=1"})
        with pytest.raises(CatalogMisconfigured, match=rf"redirects to {other.url}: floe follows no redirects"):
            opened(token=SECRET)
        assert other.requests == []


@pytest.mark.parametrize(
    ("overrides", "text"),
    [
        ({"uri": "http://evil.example:80/"}, r"another uri, of http://evil\.example:80"),
        ({"uri": "file:///etc/passwd"}, "another uri"),
        ({"oauth2-server-uri": "http://evil.example"}, "another oauth2-server-uri"),
        ({"credential": "a:b"}, "own configuration"),
        ({"rest.client.proxy.hostname": "evil.example"}, "own configuration"),
        ({"rest.auth.type": "none"}, "own configuration"),
        ({"ssl": {"cabundle": "/etc/passwd"}}, "own configuration"),
        ({"s3.profile-name": "admin"}, "own configuration"),
        ({"gcp.auth.credentials-path": "/etc/passwd"}, "own configuration"),
        ({"py-io-impl": "subprocess.Popen"}, "names the class"),
        ({"warehouse": {"a": 1}}, "which is no text"),
    ],
)
@pytest.mark.parametrize("where", ["overrides", "defaults"])
def test_config_may_not_change_the_client(
    server: Double,
    login: Double,
    opened: Callable[..., CatalogClient],
    overrides: dict[str, Any],
    text: str,
    where: str,
) -> None:
    server.answers = lambda _: as_json({"defaults": {}, "overrides": {}, where: overrides})
    keys = {"credential": f"id:{SECRET}", "oauth2-server-uri": login.url, "warehouse": "w"}
    if where == "defaults" and overrides.keys() <= {"uri", *keys}:
        opened(**keys).catalog.close()  # the connector's own value counts over a default
        return
    with pytest.raises(CatalogMisconfigured, match=text):
        opened(**keys)
    assert {request.path for request in server.requests} == {"/v1/config?warehouse=w"}


def test_uri_of_the_same_server_is_taken(server: Double, opened: Callable[..., CatalogClient]) -> None:
    server.answers = lambda _: as_json({"overrides": {"uri": f"{server.url}/catalog", "prefix": "p"}, "defaults": {}})
    with closing(opened().catalog) as catalog:
        server.answers = lambda _: as_json({"namespaces": []})
        catalog.list_namespaces()
    assert server.paths[-1] == "/catalog/v1/p/namespaces"


def test_mode_that_hides_snapshots_is_not_taken(server: Double, opened: Callable[..., CatalogClient]) -> None:
    server.answers = lambda _: as_json({"overrides": {"snapshot-loading-mode": "refs"}, "defaults": {}})
    with closing(opened().catalog) as catalog:
        assert "snapshot-loading-mode" not in catalog.properties


@pytest.mark.parametrize(
    ("limit", "text"), [("MAX_ANSWER", "more than 0 MB"), ("MAX_SECONDS", "did not end its answer")]
)
def test_endless_answer_is_given_up(
    server: Double, opened: Callable[..., CatalogClient], monkeypatch: pytest.MonkeyPatch, limit: str, text: str
) -> None:
    monkeypatch.setattr(rest_transport, limit, 0)
    server.answers = lambda _: Reply(200, b'{"defaults": "' + b"x" * 300_000)
    with pytest.raises(CatalogMisconfigured, match=text):
        opened()


def test_answer_that_does_not_come_is_given_up(server: Double, opened: Callable[..., CatalogClient]) -> None:
    server.answers = lambda _: Reply(200, b"{}", delay=1)
    with pytest.raises(CatalogUnreachable, match=r"[Tt]imed? ?out"):
        opened(**{"rest.client.socket-timeout-ms": "100"})


def test_retry_after_is_waited_for(
    server: Double, opened: Callable[..., CatalogClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(rest_transport, "sleep", waits.append)
    busy = [as_json({}, status, Retry_After="7") for status in (429, 503)]
    server.answers = one_after_the_other(*busy, as_json({}, 502), as_json({}, 504), CONFIG)
    opened(**{"rest.client.max-retries": "4"}).catalog.close()
    assert waits == [7, 7, 2, 4]
    server.answers = one_after_the_other(as_json({}, 429, Retry_After="3600"), CONFIG)
    with pytest.raises(CatalogUnreachable, match="TooManyRequests"):
        opened(**{"rest.client.max-retries": "4"})


# -- the login -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "expected", "text"),
    [
        (HTML, CatalogMisconfigured, "answers with text/html, not with JSON"),
        (Reply(302, b"", {"Location": "http://evil.example/"}), CatalogMisconfigured, "redirects to http://evil.example"),
        (Reply(307, b"", {"Location": "http://evil.example/"}), CatalogMisconfigured, "redirects to http://evil.example"),
        (as_json({}), CatalogMisconfigured, "without an access_token"),
        (as_json({"access_token": 7}), CatalogMisconfigured, "without an access_token"),
        (as_json({"access_token": "CANARY\nX-Evil: 1"}), CatalogMisconfigured, "a line break or another character"),
        (
            as_json({"error": "invalid_client", "error_description": f"no {SECRET}"}, 401),
            CatalogLoginRefused,
            "invalid_client: no",
        ),
        (as_json({"error": "invalid_scope"}, 400), CatalogLoginRefused, "refuses iceberg.catalog.credential .invalid_scope"),
        (Reply(404, b"<html>"), CatalogMisconfigured, "answers 404"),
        (Reply(500, b"<html>"), CatalogUnreachable, "answers 500"),
    ],
)  # fmt: skip
def test_bad_answer_of_the_login_is_a_clear_error(
    server: Double,
    login: Double,
    opened: Callable[..., CatalogClient],
    reply: Reply,
    expected: type[Exception],
    text: str,
) -> None:
    login.answers = lambda _: reply
    with pytest.raises(expected, match=text) as caught:
        opened(**{"credential": f"id:{SECRET}", "oauth2-server-uri": f"{login.url}/token"})
    assert "CANARY" not in text_of(caught.value)
    assert server.requests == []


def test_login_that_is_busy_is_asked_again(server: Double, login: Double, opened: Callable[..., CatalogClient]) -> None:
    login.answers = one_after_the_other(*[as_json({}, 503, Retry_After="0")] * 2, TOKEN)
    keys = {"credential": f"id:{SECRET}", "oauth2-server-uri": login.url, "rest.client.max-retries": "2"}
    opened(**keys).catalog.close()
    assert len(login.requests) == 3
    assert server.requests[0].headers["authorization"] == "Bearer CANARY-token-of-login"


def test_token_that_no_header_can_have_is_not_sent(
    server: Double, opened: Callable[..., CatalogClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", server.url)
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__TOKEN", "CANARY\r\nX-Evil: 1")
    with pytest.raises(
        CatalogMisconfigured, match=r"token of iceberg\.catalog\.\* has a blank, a line break"
    ) as caught:
        opened()
    assert "CANARY" not in text_of(caught.value)
    assert server.requests == []


def test_headers_of_the_catalog_go_to_no_other_server(
    server: Double, login: Double, opened: Callable[..., CatalogClient]
) -> None:
    keys = {"credential": f"id:{SECRET}", "header.X-Own": "alone"}
    opened(**keys, **{"oauth2-server-uri": login.url}).catalog.close()
    assert "x-own" not in login.requests[0].headers
    assert "authorization" not in login.requests[0].headers
    assert server.requests[0].headers["x-own"] == "alone"
    assert server.requests[0].headers["authorization"] == "Bearer CANARY-token-of-login"
    server.answers = lambda request: TOKEN if request.path == "/v1/oauth/tokens" else CONFIG
    opened(**keys).catalog.close()
    assert [request.path for request in server.requests[-2:]] == ["/v1/oauth/tokens", "/v1/config"]
    assert server.requests[-2].headers["x-own"] == "alone"


@pytest.mark.parametrize(
    ("keys", "header"),
    [
        ({}, None),
        ({"rest.auth.type": "none", "token": SECRET}, None),
        ({"token": SECRET}, f"Bearer {SECRET}"),
        ({"rest.auth.type": "org.apache.iceberg.rest.auth.OAuth2Manager", "token": SECRET}, f"Bearer {SECRET}"),
        (
            {"rest.auth.type": "basic", "rest.auth.basic.username": "u", "rest.auth.basic.password": "pass:word"},
            "Basic dTpwYXNzOndvcmQ=",
        ),
        ({"header.Authorization": f"Own {SECRET}"}, f"Own {SECRET}"),
    ],
)
def test_login_is_what_the_keys_say(
    server: Double, opened: Callable[..., CatalogClient], keys: dict[str, str], header: str | None
) -> None:
    opened(**keys).catalog.close()
    assert [request.headers.get("authorization") for request in server.requests] == [header]


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"rest.auth.type": "oauth2"}, "oauth2 needs credential or token"),
        ({"rest.auth.type": "basic", "rest.auth.basic.username": "u"}, "basic needs rest.auth.basic.password"),
        ({"rest.auth.type": "sigv4", "rest.auth.sigv4.delegate-auth-type": "sigv4"}, "delegate-auth-type sigv4: set"),
        ({"rest.client.proxy.hostname": "h"}, "set both, or none"),
    ],
)
def test_half_a_login_is_named(opened: Callable[..., CatalogClient], keys: dict[str, str], text: str) -> None:
    with pytest.raises(CatalogMisconfigured, match=text):
        opened(**keys)


# -- tables --------------------------------------------------------------------------------------------------------------

METADATA = {
    "format-version": 2, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "s3://b/t",
    "last-sequence-number": 0, "last-updated-ms": 1, "last-column-id": 1, "current-schema-id": 0,
    "schemas": [{"type": "struct", "schema-id": 0, "fields": []}], "default-spec-id": 0,
    "partition-specs": [{"spec-id": 0, "fields": []}], "last-partition-id": 999,
    "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}],
}  # fmt: skip


def table_answer(config: dict[str, str], credentials: dict[str, str] | None = None) -> Callable[[Request], Reply]:
    vended = [{"prefix": "s3://b", "config": credentials}] if credentials else []
    document = {"metadata": METADATA, "metadata-location": "s3://b/t/m.json", "config": config}
    table = as_json({**document, "storage-credentials": vended, "unknown": {"a": 1}})
    return lambda request: table if "/tables/" in request.path else CONFIG


@pytest.mark.parametrize(
    "config",
    [{"s3.remote-signing-enabled": "true"}, {"s3.signer.uri": "http://evil.example"}, {"s3.signer": "S3V4RestSigner"}],
)
def test_remote_signing_is_refused_by_name(
    server: Double, opened: Callable[..., CatalogClient], config: dict[str, str]
) -> None:
    server.answers = table_answer(config)
    with pytest.raises(
        TableUnsuitable, match=r"store of table 'db\.t' \(remote signing\), which floe does not"
    ) as caught:
        opened().load("db.t")
    assert caught.value.code == "FLOE-421"


@pytest.mark.parametrize(
    ("own", "vended"),
    [
        ({"s3.access-key-id": "AKIA", "s3.secret-access-key": SECRET}, {}),
        ({"s3.remote-signing-enabled": "false"}, {}),
        ({}, {"s3.access-key-id": "ASIA", "s3.secret-access-key": SECRET, "s3.session-token": SECRET}),
    ],
)
def test_credentials_count_over_remote_signing(
    server: Double, opened: Callable[..., CatalogClient], own: dict[str, str], vended: dict[str, str]
) -> None:
    server.answers = table_answer({"s3.remote-signing-enabled": "true"}, vended)
    with closing(opened(**own).catalog) as catalog:
        assert catalog.load_table("db.t").io.properties.get("s3.access-key-id") in ("AKIA", "ASIA", None)


@pytest.mark.parametrize("blank", [{"gcs.oauth2.token": ""}, {"gcs.no-auth": "false", "gcs.oauth2.token": ""}])
def test_login_for_an_address_is_not_undone_in_another_part_of_the_answer(
    server: Double, opened: Callable[..., CatalogClient], blank: dict[str, str]
) -> None:
    server.answers = table_answer({"gcs.service.host": "http://evil.example", "gcs.oauth2.token": "theirs"}, blank)
    with pytest.raises(TableUnsuitable, match=r"gcs\.service\.host and no credentials for it"):
        opened().load("db.t")


def test_login_of_the_catalog_stays_off_the_workers(
    server: Double, login: Double, opened: Callable[..., CatalogClient]
) -> None:
    vended = {
        "s3.access-key-id": "ASIA",
        "s3.secret-access-key": "CANARY-of-the-store",
        "s3.session-token": "CANARY-3rd",
    }
    server.answers = table_answer({"token": "CANARY-of-the-table", "client.region": "eu-west-1"}, vended)
    keys = {"credential": f"id:{SECRET}", "oauth2-server-uri": login.url, "header.X-Own": "CANARY-header"}
    tables = opened(**keys)
    table = tables.require("db.t")
    assert {key: value for key, value in table.io.properties.items() if "CANARY" in str(value)} == {
        key: value for key, value in vended.items() if "CANARY" in value
    }
    assert table.io.properties["client.region"] == "eu-west-1"
    with pytest.raises(CatalogError) as caught, tables.changing("db.t"):
        raise OSError(json.dumps({**table.io.properties, "t": "CANARY-of-the-table"}))
    assert "CANARY" not in text_of(caught.value)
    tables.catalog.close()
