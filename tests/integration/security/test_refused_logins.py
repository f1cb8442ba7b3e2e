"""Logins and connections that fail: within a bounded time, named, with nothing announced."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from floe.kafka.access import KafkaLoginRefused, TlsRefused
from floe.kafka.exceptions import KafkaError
from floe.kafka.settings import KafkaSettings
from stack.settings import LOOPBACK
from tests.support.kafka.secured import PASSWORD, SecuredBroker
from tests.support.registry.certificates import Authority
from tests.support.runs.pipeline import Pipeline

pytestmark = pytest.mark.usefixtures("short_waits")


def refused(secured: SecuredBroker, pizzas: Pipeline, extra: Mapping[str, Any], kind: type[Exception]) -> str:
    """Return the message with which a plan fails."""
    pizzas.settings = KafkaSettings.of(pizzas.connector, extra)
    began = time.monotonic()
    with pytest.raises(kind) as found:
        pizzas.plan()
    assert time.monotonic() - began < 30
    message = str(found.value)
    assert extra["bootstrap.servers"] in message and "kafka_default" in message and "Nothing was lost" in message
    assert PASSWORD not in message and "wr0ng" not in message
    pizzas.settings = KafkaSettings.of(pizzas.connector, {"bootstrap.servers": secured.broker.bootstrap})
    assert pizzas.position() == {}
    return message


@pytest.mark.parametrize(
    ("mechanism", "change"),
    [
        ("PLAIN", {"sasl.password": "wr0ng"}),
        ("SCRAM-SHA-256", {"sasl.password": "wr0ng"}),
        ("SCRAM-SHA-512", {"sasl.username": "nobody"}),
    ],
)
def test_login_that_is_refused_names_the_user(
    secured: SecuredBroker, secured_pipeline: Callable[..., Pipeline], mechanism: str, change: dict[str, str]
) -> None:
    given = {**secured.login("SASLTLS", mechanism), **change}
    message = refused(secured, secured_pipeline(), given, KafkaLoginRefused)
    assert f"user '{given['sasl.username']}' (security.protocol SASL_SSL, sasl.mechanism {mechanism})" in message


def test_mechanism_that_the_listener_has_not_is_named(
    secured: SecuredBroker, secured_pipeline: Callable[..., Pipeline]
) -> None:
    given = {**secured.login("SASL", "PLAIN"), "bootstrap.servers": f"{LOOPBACK}:{secured.ports['OAUTH']}"}
    assert "sasl.mechanism PLAIN" in refused(secured, secured_pipeline(), given, KafkaLoginRefused)


OTHERS = ("expired", "host", "tls to plaintext", "certificate")


@pytest.mark.parametrize("fault", ["authority", *(pytest.param(one, marks=pytest.mark.full) for one in OTHERS)])
def test_connection_that_is_refused_names_the_cause(
    secured: SecuredBroker, secured_pipeline: Callable[..., Pipeline], fault: str, tmp_path: Any
) -> None:
    other = str(Authority(tmp_path, "other").file)
    given, words = {
        "authority": (secured.login("SASLTLS", **{"ssl.ca.location": other}), "certificate verify failed"),
        "expired": (secured.login("EXPIRED"), "certificate verify failed"),
        "host": (secured.login("OTHERHOST"), "certificate verify failed"),
        "tls to plaintext": (
            {**secured.login("SASLTLS"), "bootstrap.servers": f"{LOOPBACK}:{secured.ports['SASL']}"},
            "SSL handshake failed",
        ),
        "certificate": (
            {**secured.servers("MTLS"), "ssl.ca.location": str(secured.stores.authority.file)},
            "bad certificate",
        ),
    }[fault]
    assert words in refused(secured, secured_pipeline(), given, TlsRefused)


def test_plaintext_to_a_listener_with_tls_names_the_protocol(
    secured: SecuredBroker, secured_pipeline: Callable[..., Pipeline]
) -> None:
    pizzas = secured_pipeline()
    given = {**secured.servers("SASLTLS"), "security.protocol": "PLAINTEXT"}
    pizzas.settings = KafkaSettings.of(pizzas.connector, given)
    with pytest.raises(KafkaError, match=rf"{given['bootstrap.servers']}.*security.protocol PLAINTEXT"):
        pizzas.plan()
