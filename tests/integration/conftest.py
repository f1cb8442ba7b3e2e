"""A topic of its own on the broker for each test."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from stack.services.broker import Broker
from tests.support.kafka.proxy import KafkaProxy
from tests.support.kafka.secured import SecuredBroker
from tests.support.metastores.server import started
from tests.support.rest.keycloak import Keycloak
from tests.support.runs.pipeline import MakePipeline, Pipeline

LIFETIME = 4
"""Seconds for which Keycloak's tokens are valid."""


@pytest.fixture
def proxy(broker: Broker, proxy_ports: tuple[int, int]) -> Iterator[KafkaProxy]:
    """A proxy in front of the broker; `proxy.bootstrap` is its address."""
    behind, front = proxy_ports
    one = KafkaProxy(front, behind)
    yield one
    one.close()


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """A broker with a listener of each kind and an authorizer."""
    one = SecuredBroker.start(tmp_path_factory.mktemp("secured"))
    yield one
    one.broker.stop()


@pytest.fixture(scope="session")
def keycloak(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keycloak]:
    """A real OAuth2 server, whose tokens are valid for seconds."""
    with started(Keycloak(tmp_path_factory.mktemp("keycloak"), LIFETIME)) as one:
        yield one


@pytest.fixture(scope="session")
def admin(broker: Broker) -> AdminClient:
    """A client for what topics cannot say themselves."""
    return AdminClient({"bootstrap.servers": broker.bootstrap})


@pytest.fixture(scope="session")
def topic(admin: AdminClient) -> Callable[..., str]:
    """A factory: `topic(partitions=1, **config)` creates a topic with a name of its own and returns the name.

    Configuration keys take `_` for `.`: `topic(3, cleanup_policy="compact")`.
    """

    def create(partitions: int = 1, name: str = "topic", **config: str) -> str:
        unique = f"{name}-{uuid.uuid4().hex[:12]}"
        # whatever time a test gives its records, the broker keeps them
        settings = {"retention.ms": "-1"} | {key.replace("_", "."): value for key, value in config.items()}
        admin.create_topics([NewTopic(unique, num_partitions=partitions, config=settings)])[unique].result(30)
        return unique

    return create


@pytest.fixture
def pipeline(broker: Broker, topic: Callable[..., str], tmp_path: Path) -> MakePipeline:
    """A factory: `pipeline(partitions=1, **{key: value})` makes a topic and a connector on it."""

    def make(partitions: int = 1, **more: Any) -> Pipeline:
        name = more.pop("topic", None) or topic(partitions)
        return Pipeline.make(broker.bootstrap, name, tmp_path, **more)

    return make
