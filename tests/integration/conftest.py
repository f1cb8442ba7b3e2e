"""One real broker for the session, a topic of its own for each test."""

from __future__ import annotations

import gc
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from stack.broker import Broker
from stack.settings import free_port
from tests.support.airflow import Deployment
from tests.support.kafka.compaction import QUICK_CLEANER
from tests.support.kafka.proxy import KafkaProxy, listeners
from tests.support.runs.pipeline import MakePipeline, Pipeline

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="session")
def proxy_ports() -> tuple[int, int]:
    """Where the broker listens for a proxy in front of it, and where it says that clients find it."""
    return free_port(), free_port()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory, proxy_ports: tuple[int, int]) -> Iterator[Broker]:
    """A broker on free ports, its data in a folder of this session; `broker.bootstrap` is its address."""
    port, controller_port = free_port(), free_port()
    properties = QUICK_CLEANER | listeners(port, controller_port, *proxy_ports)
    one = Broker(tmp_path_factory.mktemp("kafka"), port, controller_port, properties)
    one.start()
    yield one
    gc.collect()  # clients that nobody holds any more would say on the terminal that the broker is gone
    one.stop()


@pytest.fixture
def proxy(broker: Broker, proxy_ports: tuple[int, int]) -> Iterator[KafkaProxy]:
    """A proxy in front of the broker; `proxy.bootstrap` is its address."""
    behind, front = proxy_ports
    one = KafkaProxy(front, behind)
    yield one
    one.close()


@pytest.fixture(scope="session")
def admin(broker: Broker) -> AdminClient:
    """A client for what topics cannot say themselves."""
    return AdminClient({"bootstrap.servers": broker.bootstrap})


@pytest.fixture
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


@pytest.fixture(scope="session")
def deployment(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A real Airflow beside the broker, for the whole session."""
    one = Deployment.make(broker, tmp_path_factory.mktemp("airflow"))
    one.airflow.start()
    yield one
    one.stop()
