"""Requests to a registry: which faults are tried again, and what ends a run at once."""

from __future__ import annotations

import logging
import re
import time

import pytest

from floe.config.secrets import mask
from floe.schema_registry import transport
from floe.schema_registry.client import SchemaRegistry
from floe.schema_registry.exceptions import (
    NotARegistry,
    RegistryError,
    RegistryMisconfigured,
    RegistryRefused,
    RegistryUnreachable,
)
from stack.settings import free_port
from tests.support.registry.double import PAGE, Reply, Request, as_json, one_after_the_other, schema, serving
from tests.support.registry.settings import settings

BUSY = as_json({"error_code": 50003, "message": "forwarding failed"}, 503)


def fails(url: str, **options: str) -> str:
    with pytest.raises(RegistryError) as caught:
        SchemaRegistry(settings(url, **options)).schema(1)
    return str(caught.value)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_passing_fault_is_tried_again(status: int, caplog: pytest.LogCaptureFixture) -> None:
    with serving(one_after_the_other(Reply(status, b"oops"), schema())) as double, caplog.at_level(logging.WARNING):
        SchemaRegistry(settings(double.url)).schema(1)
        assert len(double.requests) == 2
    assert f"answered {status}: 'oops'; retrying" in caplog.text


def test_fault_that_stays_is_retryable() -> None:
    with serving(BUSY) as double:
        with pytest.raises(
            RegistryUnreachable, match=r"in 3 attempts: .*503: forwarding failed.*Nothing was announced"
        ):
            SchemaRegistry(settings(double.url)).schema(1)
        assert len(double.requests) == 3


def test_server_says_how_long_to_wait() -> None:
    busy = as_json({}, 429, Retry_After="100")
    with serving(one_after_the_other(busy, schema())) as double:
        started = time.monotonic()
        SchemaRegistry(settings(double.url, retries_max_wait_ms="300")).schema(1)
    assert time.monotonic() - started >= 0.3


def test_registry_that_is_down_is_retryable() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(RegistryUnreachable, match="Connection refused"):
        SchemaRegistry(settings(url)).schema(1)


def test_registry_that_comes_back_is_asked() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with serving(schema()) as double:
        registry = SchemaRegistry(settings(url, max_retries="0"))
        with pytest.raises(RegistryUnreachable):
            registry.schema(1)
        registry = SchemaRegistry(settings(double.url))
        assert registry.schema(1)


def test_next_address_is_asked_and_stays_the_first() -> None:
    with serving(BUSY) as busy, serving(schema()) as double:
        registry = SchemaRegistry(settings(f"{busy.url},http://127.0.0.1:{free_port()},{double.url}"))
        registry.schema(1)
        registry.schema(2)
        assert len(busy.requests) == 1
        assert double.paths == ["/schemas/ids/1", "/schemas/ids/2"]


def test_all_addresses_are_in_the_message() -> None:
    with serving(BUSY) as one, serving(Reply(500)) as other:
        said = fails(f"{one.url},{other.url}")
    assert f"{one.url}/schemas/ids/1 answered 503" in said
    assert f"{other.url}/schemas/ids/1 answered 500" in said


@pytest.mark.parametrize(
    "reply", [Reply(delay=2), Reply(body=b"1234567890" * 10, pause=0.1)], ids=["late", "drop by drop"]
)
def test_slow_answer_is_given_up(reply: Reply) -> None:
    started = time.monotonic()
    with serving(reply) as double:
        said = fails(double.url, http_read_timeout_ms="300", max_retries="0")
    assert "did not answer in time" in said
    assert time.monotonic() - started < 5


def test_cut_answer_is_tried_again() -> None:
    cut = Reply(200, b'{"schema":', length=100)
    with serving(one_after_the_other(cut, schema())) as double:
        assert SchemaRegistry(settings(double.url)).schema(1)


@pytest.mark.parametrize("status", [401, 403])
def test_refusal_names_the_option_and_no_secret(status: int) -> None:
    with serving(as_json({"message": "wrong: me:geheim-123"}, status)) as double:
        options = {"basic_auth_credentials_source": "USER_INFO", "basic_auth_user_info": "me:geheim-123"}
        with pytest.raises(RegistryRefused) as caught:
            SchemaRegistry(settings(double.url, **options)).schema(1)
        assert len(double.requests) == 1
    assert f"answered {status}" in str(caught.value)
    assert "value.converter.basic.auth.user.info" in str(caught.value)
    assert "geheim-123" not in str(caught.value)


def test_refusal_without_credentials_says_so() -> None:
    with serving(Reply(401)) as double:
        assert "No credentials are configured" in fails(double.url)


def test_login_of_url_is_not_in_messages() -> None:
    with serving(Reply(401)) as double:
        said = fails(double.url.replace("http://", "http://me:geheim-123@"))
    assert "geheim-123" not in said
    assert "value.converter.schema.registry.url" in said


def test_page_is_quoted_and_ends_the_run() -> None:
    with serving(PAGE) as double:
        with pytest.raises(NotARegistry) as caught:
            SchemaRegistry(settings(double.url)).schema(1)
        assert len(double.requests) == 1
    assert "status 200, text/html, beginning with '<!doctype html>" in str(caught.value)


def test_quoted_answer_has_no_secret_and_no_line_ends() -> None:
    mask.learn({"password": "geheim-4711"})
    with serving(Reply(200, b"<html>\n\x1b[31m your key: geheim-4711\n" + b"x" * 5000)) as double:
        said = fails(double.url)
    assert "geheim-4711" not in said
    assert "\n" not in said
    assert "\x1b" not in said
    assert len(said) < 700


def test_huge_answer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MAX_BODY_BYTES", 100_000)
    with serving(Reply(200, b"x" * 200_000)) as double:
        assert "more than 100000 bytes" in fails(double.url)


def test_redirect_on_the_same_server_is_followed() -> None:
    def answer(request: Request) -> Reply:
        return schema() if request.path.startswith("/api/") else Reply(301, headers={"Location": f"/api{request.path}"})

    with serving(answer) as double:
        assert SchemaRegistry(settings(double.url)).schema(1)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirect_to_another_server_is_refused(status: int) -> None:
    with serving(schema()) as other, serving(Reply(status, headers={"Location": f"{other.url}/x"})) as double:
        said = fails(double.url, bearer_auth_token="geheim-123")
        assert f"redirects to {other.url}" in said
        assert other.requests == []


def test_redirects_without_end_are_refused() -> None:
    with serving(Reply(302, headers={"Location": "/again"})) as double:
        assert "redirects more than 3 times" in fails(double.url)
        assert len(double.requests) == 4


def test_redirect_to_nowhere_is_refused() -> None:
    with serving(Reply(302, headers={"Location": "http://[::1"})) as double:
        assert "redirects" in fails(double.url)


def test_server_that_is_not_http_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Reply()) as double:
        monkeypatch.setattr("http.client.HTTPResponse._read_status", _no_status)
        assert "does not answer in HTTP" in fails(double.url)


def _no_status(self: object) -> tuple[str, int, str]:
    from http.client import BadStatusLine

    line = "SSH-2.0-OpenSSH_9"
    raise BadStatusLine(line)


def test_host_that_cannot_be_named_is_misconfigured() -> None:
    with pytest.raises(RegistryMisconfigured, match="is no address"):
        SchemaRegistry(settings(f"http://{'a' * 70}.example", max_retries="0")).schema(1)


def test_headers_of_options_are_sent() -> None:
    with serving(schema()) as double:
        SchemaRegistry(settings(double.url, **{"request_header_X-Tenant": "a"})).schema(1)
        (request,) = double.requests
    assert request.headers["x-tenant"] == "a"
    assert "authorization" not in request.headers
    assert re.search("json", request.headers["accept"])


def test_proxy_gets_the_whole_address() -> None:
    with serving(schema()) as proxy:
        SchemaRegistry(settings("http://registry.invalid:8081", **by(proxy.port))).schema(1)
        assert proxy.paths == ["http://registry.invalid:8081/schemas/ids/1"]
        assert proxy.requests[0].headers["host"] == "registry.invalid:8081"


def test_proxy_that_is_down_is_retryable() -> None:
    with pytest.raises(RegistryUnreachable):
        SchemaRegistry(settings("http://registry.invalid", **by(free_port()))).schema(1)


def by(port: int) -> dict[str, str]:
    return {"proxy_host": "127.0.0.1", "proxy_port": str(port)}
