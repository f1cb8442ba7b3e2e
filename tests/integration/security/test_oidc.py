"""OAUTHBEARER against Keycloak: librdkafka gets its tokens, and the broker checks them by Keycloak's keys."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka as ck
import pytest

from floe.kafka.access import KafkaLoginRefused, TokenMissing
from floe.kafka.admin import Cluster
from floe.kafka.settings import KafkaSettings
from stack.progress import wait_until
from tests.support.kafka.secured import USER, SecuredBroker
from tests.support.kafka.token_endpoint import serve_tokens
from tests.support.rest.keycloak import CLIENT_ID, CLIENT_SECRET, Keycloak
from tests.support.runs.pipeline import Pipeline

pytestmark = pytest.mark.full

MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
LOGIN = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
VALIDATOR = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
ALLOWED = "org.apache.kafka.sasl.oauthbearer.allowed.urls"


@pytest.fixture(scope="module")
def secured(keycloak: Keycloak, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """A broker that takes Keycloak's tokens, and has a connection log in again when its token expires."""
    keys = f"{keycloak.realm}/protocol/openid-connect/certs"
    listener = "listener.name.oauth"
    properties = {
        f"{listener}.oauthbearer.sasl.jaas.config": f"{MODULE} required;",
        f"{listener}.oauthbearer.sasl.server.callback.handler.class": VALIDATOR,
        f"{listener}.oauthbearer.connections.max.reauth.ms": "3600000",
        f"{listener}.sasl.oauthbearer.jwks.endpoint.url": keys,
        f"{listener}.sasl.oauthbearer.expected.issuer": keycloak.realm,
        f"{listener}.sasl.oauthbearer.expected.audience": "account",
        f"{listener}.sasl.oauthbearer.sub.claim.name": "client_id",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} -D{ALLOWED}={keys}".strip())
        one = SecuredBroker.start(tmp_path_factory.mktemp("oidc"), properties)
    yield one
    one.broker.stop()


def login(secured: SecuredBroker, keycloak: Keycloak, secret: str = CLIENT_SECRET) -> dict[str, str]:
    """Return what people write for Kafka's own client."""
    assert CLIENT_ID == USER
    return {
        **secured.servers("OAUTH"),
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": keycloak.token_address,
        "sasl.login.callback.handler.class": LOGIN,
        "sasl.jaas.config": f"{MODULE} required clientId='{CLIENT_ID}' clientSecret='{secret}' scope='profile';",
    }


def test_runs_by_tokens_of_keycloak(
    secured: SecuredBroker, secured_pipeline: Callable[..., Pipeline], keycloak: Keycloak
) -> None:
    pizzas = secured_pipeline()
    pizzas.settings = KafkaSettings.of(pizzas.connector, login(secured, keycloak))
    pizzas.run()
    assert pizzas.column("id") == list(range(10))


def test_client_outlives_its_tokens(
    secured: SecuredBroker, secured_pipeline: Callable[..., Pipeline], keycloak: Keycloak
) -> None:
    pizzas = secured_pipeline()
    settings = KafkaSettings.of(pizzas.connector, login(secured, keycloak))
    client = Cluster.of_source(settings)
    for _ in range(3):
        assert client.topics([pizzas.topic])
        first = keycloak.token()
        assert wait_until(lambda first=first: not keycloak.is_active(first), 30)  # type: ignore[misc]
    assert client.topics([pizzas.topic])


@pytest.mark.usefixtures("short_waits")
def test_wrong_secret_at_keycloak_is_named(
    secured: SecuredBroker, secured_pipeline: Callable[..., Pipeline], keycloak: Keycloak
) -> None:
    pizzas = secured_pipeline()
    pizzas.settings = KafkaSettings.of(pizzas.connector, login(secured, keycloak, "an0ther-secret"))
    with pytest.raises(TokenMissing, match=rf"client '{CLIENT_ID}' .*got no token.*token.endpoint.url") as found:
        pizzas.plan()
    assert "an0ther" not in str(found.value)


@pytest.mark.usefixtures("short_waits")
def test_token_of_another_issuer_is_refused(
    secured: SecuredBroker, secured_pipeline: Callable[..., Pipeline], keycloak: Keycloak
) -> None:
    """The broker checks signatures: what an unsecured one takes is of no use here."""
    pizzas = secured_pipeline()
    with serve_tokens(USER, CLIENT_SECRET) as other:
        keys: dict[str, Any] = login(secured, keycloak) | {"sasl.oauthbearer.token.endpoint.url": other.url}
        pizzas.settings = KafkaSettings.of(pizzas.connector, keys)
        with pytest.raises(KafkaLoginRefused, match=rf"refuses the credentials of client '{CLIENT_ID}'"):
            pizzas.plan()


def test_reader_goes_on_beyond_its_token(
    secured: SecuredBroker, secured_pipeline: Callable[..., Pipeline], keycloak: Keycloak
) -> None:
    pizzas = secured_pipeline()
    settings = KafkaSettings.of(pizzas.connector, login(secured, keycloak))
    consumer = ck.Consumer({**settings.source, "group.id": pizzas.connector.group_id})
    consumer.assign([ck.TopicPartition(pizzas.topic, 0, 0)])
    offsets = []
    for start in (0, 10, 20):
        while len(offsets) < start + 10:
            offsets += [one.offset() for one in consumer.consume(10, 30) if one.error() is None]
        token = keycloak.token()
        assert wait_until(lambda token=token: not keycloak.is_active(token), 30)  # type: ignore[misc]
        pizzas.produce({"id": i} for i in range(10))
    consumer.close()
    assert offsets == list(range(30))
