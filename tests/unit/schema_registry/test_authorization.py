"""Logins and tokens of a registry's client."""

from __future__ import annotations

import base64
import itertools
from urllib.parse import parse_qs

import pytest

from floe.config.schema_registry.settings import OAuthClient, RegistryAddress, RegistrySettings
from floe.config.secrets import mask
from floe.schema_registry.client import SchemaRegistry
from floe.schema_registry.exceptions import NotARegistry, RegistryRefused, RegistryUnreachable
from floe.schema_registry.service import OAuthToken
from floe.schema_registry.transport import Transport
from tests.support.registry.double import (
    Answers,
    Double,
    Reply,
    Request,
    as_json,
    one_after_the_other,
    schema,
    serving,
)
from tests.support.registry.settings import settings


def basic(user_info: str) -> str:
    return f"Basic {base64.b64encode(user_info.encode()).decode()}"


def sent(double: Double) -> list[str | None]:
    return [request.headers.get("authorization") for request in double.requests]


def tokens(*names: str, lifetime: object = 3600) -> Answers:
    fresh = itertools.chain(names, itertools.repeat("last"))
    return lambda _: as_json({"access_token": next(fresh), "token_type": "Bearer", "expires_in": lifetime})


def oauth(registry: str, login: str, **options: str) -> SchemaRegistry:
    given = {
        "bearer_auth_credentials_source": "OAUTHBEARER",
        "bearer_auth_issuer_endpoint_url": f"{login}/token",
        "bearer_auth_client_id": "floe",
        "bearer_auth_client_secret": "geheim-123",
    }
    return SchemaRegistry(settings(registry, **given, **options))


def test_login_is_sent_as_basic() -> None:
    with serving(schema()) as double:
        options = {"basic_auth_credentials_source": "USER_INFO", "basic_auth_user_info": "me:pä:ss"}
        SchemaRegistry(settings(double.url, **options)).schema(1)
        assert sent(double) == [basic("me:pä:ss")]


def test_each_url_gets_its_own_login() -> None:
    with serving(Reply(503)) as one, serving(schema()) as two:
        urls = f"{one.url.replace('//', '//a:first@')},{two.url.replace('//', '//b:second@')}"
        SchemaRegistry(settings(urls)).schema(1)
        assert (sent(one), sent(two)) == ([basic("a:first")], [basic("b:second")])


def test_static_token_is_sent() -> None:
    with serving(schema()) as double:
        SchemaRegistry(settings(double.url, bearer_auth_token="abc")).schema(1)
        assert sent(double) == ["Bearer abc"]


def test_token_is_fetched_once_for_all_schemas() -> None:
    with serving(schema()) as double, serving(tokens("one")) as login:
        registry = oauth(double.url, login.url, bearer_auth_scope="read all", bearer_auth_logical_cluster="lsrc-1")
        registry.schema(1)
        registry.schema(2)
        assert sent(double) == ["Bearer one"] * 2
        assert double.requests[0].headers["target-sr-cluster"] == "lsrc-1"
        (request,) = login.requests
    assert (request.method, request.path) == ("POST", "/token")
    assert request.headers["authorization"] == basic("floe:geheim-123")
    assert parse_qs(request.body.decode()) == {"grant_type": ["client_credentials"], "scope": ["read all"]}


def test_refused_token_is_replaced_once() -> None:
    def answer(request: Request) -> Reply:
        return schema() if request.headers["authorization"] == "Bearer two" else Reply(401)

    with serving(answer) as double, serving(tokens("one", "two")) as login:
        oauth(double.url, login.url).schema(1)
        assert sent(double) == ["Bearer one", "Bearer two"]


def test_two_refused_tokens_end_the_run() -> None:
    with serving(Reply(401)) as double, serving(tokens("one", "two")) as login:
        with pytest.raises(RegistryRefused, match=r"value.converter.bearer.auth.client.secret"):
            oauth(double.url, login.url).schema(1)
        assert len(double.requests) == len(login.requests) == 2


@pytest.mark.parametrize(("lifetime", "kept"), [(3600, 3569), (100, 89), (None, 269), ("soon", 269), (-1, 269)])
def test_token_is_used_until_shortly_before_its_end(lifetime: object, kept: int) -> None:
    now = [1000.0]
    with serving(tokens("one", "two", lifetime=lifetime)) as login:
        client = OAuthClient(f"{login.url}/token", "floe", "geheim-123")
        found = RegistrySettings("confluent", (RegistryAddress("http://unused"),), client)
        token = OAuthToken(client, Transport(found.limits), found, lambda: now[0])
        assert token.get() == "one"
        now[0] += kept
        assert token.get() == "one"
        now[0] += 2
        assert token.get() == "two"


def test_token_is_hidden_in_messages() -> None:
    token = "opaque-token-0815"
    refusal = as_json({"message": f"bad {token}"}, 403)
    with serving(refusal) as double, serving(tokens(token)) as login, pytest.raises(RegistryRefused) as caught:
        oauth(double.url, login.url).schema(1)
    assert token not in str(caught.value)
    assert token not in mask.hide(f"x {token} y")


@pytest.mark.parametrize("status", [400, 401, 403])
def test_refusal_of_the_client_names_its_options(status: int) -> None:
    reply = as_json({"error": "invalid_client", "error_description": "Invalid client geheim-123"}, status)
    with serving(schema()) as double, serving(reply) as login:
        with pytest.raises(RegistryRefused) as caught:
            oauth(double.url, login.url).schema(1)
        assert double.requests == []
    said = str(caught.value)
    assert f"{login.url}/token gives no token" in said
    assert "Invalid client" in said
    assert "value.converter.bearer.auth.client.secret" in said
    assert "geheim-123" not in said


def test_server_of_tokens_that_is_busy_is_tried_again() -> None:
    fresh = as_json({"access_token": "one"})
    with serving(schema()) as double, serving(one_after_the_other(Reply(503), fresh)) as login:
        oauth(double.url, login.url).schema(1)
        assert sent(double) == ["Bearer one"]


def test_server_of_tokens_that_is_down_is_retryable() -> None:
    with serving(schema()) as double, serving(Reply(503)) as login, pytest.raises(RegistryUnreachable, match="/token"):
        oauth(double.url, login.url).schema(1)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, b"<html>"),
        as_json([]),
        as_json({}),
        as_json({"access_token": 1}),
        as_json({"access_token": "a\nb"}),
        as_json({"access_token": ""}),
        as_json({"access_token": "ä"}),
        as_json({"access_token": "abc"}, 201),
    ],
)
def test_answer_without_a_token_ends_the_run(reply: Reply) -> None:
    with serving(schema()) as double, serving(reply) as login, pytest.raises(NotARegistry):
        oauth(double.url, login.url).schema(1)


def test_secret_is_not_sent_to_where_a_redirect_leads() -> None:
    with serving(tokens("one")) as other, serving(Reply(307, headers={"Location": f"{other.url}/token"})) as login:
        with serving(schema()) as double, pytest.raises(NotARegistry, match="redirects"):
            oauth(double.url, login.url).schema(1)
        assert other.requests == []


@pytest.mark.parametrize("lifetime", [10**400, -1, 0, "soon", "NaN", None, [], 1e300])
def test_token_with_a_lifetime_that_makes_no_sense_is_used(lifetime: object) -> None:
    with serving(tokens("first", lifetime=lifetime)) as login, serving(schema()) as registry:
        oauth(registry.url, login.url).schema(1)
        assert sent(registry) == ["Bearer first"]
        assert len(login.requests) == 1
