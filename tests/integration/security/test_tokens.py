"""OAUTHBEARER: tokens of an endpoint by librdkafka itself, and those of AWS's signer by a callback in every client."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from floe.kafka.access import TokenMissing
from floe.kafka.settings import KafkaSettings
from tests.support.kafka.secured import USER, SecuredBroker
from tests.support.kafka.token_endpoint import TokenEndpoint, serve_tokens, unsigned_token
from tests.support.runs.pipeline import Pipeline

MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
STRIMZI = "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler"
SECRET = "cl1ent-secret"


@pytest.fixture
def endpoint() -> Iterator[TokenEndpoint]:
    """A token endpoint that knows one client."""
    with serve_tokens(USER, SECRET) as one:
        yield one


def kafkas(endpoint: TokenEndpoint, secret: str) -> dict[str, str]:
    return {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": endpoint.url,
        "sasl.login.callback.handler.class": HANDLER,
        "sasl.jaas.config": f"{MODULE} required clientId='pizza-client' clientSecret='{secret}' scope='kafka';",
    }


def strimzis(endpoint: TokenEndpoint, secret: str) -> dict[str, str]:
    options = f"oauth.client.id='pizza-client' oauth.client.secret='{secret}' oauth.token.endpoint.uri='{endpoint.url}'"
    return {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.login.callback.handler.class": STRIMZI,
        "sasl.jaas.config": f"{MODULE} required {options} oauth.scope='kafka';",
    }


@pytest.mark.parametrize("keys", [kafkas, pytest.param(strimzis, marks=pytest.mark.full)])
def test_run_by_tokens_of_an_endpoint(
    secured: SecuredBroker, secured_pipeline: Callable[..., Pipeline], endpoint: TokenEndpoint, keys: Any
) -> None:
    pizzas = secured_pipeline()
    pizzas.settings = KafkaSettings.of(pizzas.connector, {**secured.servers("OAUTH"), **keys(endpoint, SECRET)})
    pizzas.run()
    assert pizzas.column("id") == list(range(10))
    assert endpoint.asked[0] == {"grant_type": ["client_credentials"], "scope": ["kafka"]}


@pytest.mark.usefixtures("short_waits")
@pytest.mark.parametrize(
    "fault", ["401", *(pytest.param(one, marks=pytest.mark.full) for one in ("down", "garbage", "error"))]
)
def test_endpoint_without_a_token_is_named(
    secured: SecuredBroker, secured_pipeline: Callable[..., Pipeline], endpoint: TokenEndpoint, fault: str
) -> None:
    pizzas = secured_pipeline()
    keys = kafkas(endpoint, "wr0ng-secret" if fault == "401" else SECRET)
    if fault == "down":
        keys["sasl.oauthbearer.token.endpoint.url"] = "http://127.0.0.1:9/token"
    endpoint.status, endpoint.body = {"error": (500, "{}"), "garbage": (200, "<html>no token</html>")}.get(
        fault, (200, None)
    )
    pizzas.settings = KafkaSettings.of(pizzas.connector, {**secured.servers("OAUTH"), **keys})
    began = time.monotonic()
    with pytest.raises(
        TokenMissing, match=r"client 'pizza-client' \(.*OAUTHBEARER\) got no token for 127.*token.endpoint.url"
    ) as found:
        pizzas.plan()
    assert time.monotonic() - began < 30
    assert SECRET not in str(found.value) and "wr0ng" not in str(found.value)


MSK = {"sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;"}


@pytest.mark.full
def test_run_by_tokens_of_a_callback(
    secured: SecuredBroker, secured_pipeline: Callable[..., Pipeline], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signer is a mock: Amazon's broker cannot be had here. The tokens go through each of floe's clients."""
    regions: list[str] = []

    def token(region: str) -> tuple[str, int]:
        regions.append(region)
        return unsigned_token(USER), int(time.time() + 600) * 1000

    monkeypatch.setattr("aws_msk_iam_sasl_signer.MSKAuthTokenProvider.generate_auth_token", token)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    pizzas = secured_pipeline(dead_letters=True)
    pizzas.produce([b"no json"])
    pizzas.settings = KafkaSettings.of(pizzas.connector, {**secured.servers("OAUTH"), **MSK})
    pizzas.settings = KafkaSettings.from_json(pizzas.settings.to_json())
    pizzas.run()
    assert pizzas.column("id") == list(range(10))
    assert set(regions) == {"eu-west-1"} and len(regions) >= 4


@pytest.mark.usefixtures("short_waits")
def test_signer_without_credentials_is_named(
    secured: SecuredBroker, secured_pipeline: Callable[..., Pipeline], monkeypatch: pytest.MonkeyPatch
) -> None:
    def token(_: str) -> tuple[str, int]:
        msg = "Unable to locate credentials"
        raise RuntimeError(msg)

    monkeypatch.setattr("aws_msk_iam_sasl_signer.MSKAuthTokenProvider.generate_auth_token", token)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    pizzas = secured_pipeline()
    pizzas.settings = KafkaSettings.of(pizzas.connector, {**secured.servers("OAUTH"), **MSK})
    with pytest.raises(TokenMissing, match=r"the AWS identity of this machine .*Unable to locate credentials"):
        pizzas.plan()
