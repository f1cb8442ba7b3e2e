"""A whole run by each listener and mechanism, with the fewest ACLs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from floe.kafka.settings import KafkaSettings
from tests.support.kafka.secured import PASSWORD, USER, SecuredBroker
from tests.support.registry.stores import KEY_PASSWORD
from tests.support.registry.stores import PASSWORD as STORE_PASSWORD
from tests.support.runs.pipeline import Pipeline

SECURITY = "org.apache.kafka.common.security"


@pytest.fixture
def pizzas(secured_pipeline: Callable[..., Pipeline]) -> Pipeline:
    """A connector on a topic of ten records."""
    return secured_pipeline()


def run_with(pizzas: Pipeline, extra: Mapping[str, Any]) -> None:
    pizzas.settings = KafkaSettings.of(pizzas.connector, extra)
    pizzas.run()
    assert pizzas.column("id") == list(range(10))


@pytest.mark.parametrize(
    ("listener", "mechanism", "module"),
    [
        ("SASL", "PLAIN", "plain.Plain"),
        ("SASLTLS", "PLAIN", "plain.Plain"),
        ("SASL", "SCRAM-SHA-256", "scram.Scram"),
        ("SASLTLS", "SCRAM-SHA-512", "scram.Scram"),
    ],
)
def test_run_by_password_in_javas_words(
    secured: SecuredBroker, pizzas: Pipeline, listener: str, mechanism: str, module: str
) -> None:
    jaas = f'{SECURITY}.{module}LoginModule required username="{USER}" password="{PASSWORD}";'
    keys = {"sasl.mechanism": mechanism, "sasl.jaas.config": jaas, "ssl.truststore.type": "PEM"}
    trust = {"ssl.truststore.location": str(secured.stores.authority.file)}
    run_with(pizzas, {**secured.servers(listener), **keys, **trust})


@pytest.mark.parametrize(
    "kind", ["files", *(pytest.param(kind, marks=pytest.mark.full) for kind in ("texts", "jks", "p12"))]
)
def test_run_by_certificate(secured: SecuredBroker, pizzas: Pipeline, kind: str) -> None:
    stores, client = secured.stores, secured.client
    keys = {
        "files": {
            "ssl.ca.location": str(stores.authority.file),
            "ssl.certificate.location": str(client.certificate),
            "ssl.key.location": str(client.key),
        },
        "texts": {
            "ssl.truststore.certificates": stores.authority.file.read_text(),
            "ssl.keystore.certificate.chain": client.certificate_text.replace("\n", "\\n"),
            "ssl.keystore.key": client.key_text.replace("\n", "\\n"),
        },
    }
    for ending in ("jks", "p12"):
        keys[ending] = {
            "ssl.truststore.location": str(stores.folder / f"trust.{ending}"),
            "ssl.truststore.password": STORE_PASSWORD,
            "ssl.keystore.type": "JKS" if ending == "jks" else "PKCS12",
            "ssl.keystore.location": str(stores.folder / f"keys.{ending}"),
            "ssl.keystore.password": STORE_PASSWORD,
            **({"ssl.key.password": KEY_PASSWORD} if ending == "jks" else {}),
        }
    run_with(pizzas, {**secured.servers("MTLS"), **keys[kind]})
