"""One real Airflow for all tests of this folder: one worker runs them, and it ends with the last of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stack.services.broker import Broker
from tests.support.airflow import Deployment


@pytest.fixture(scope="package")
def deployment(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A real Airflow beside the broker."""
    one = Deployment.make(broker, tmp_path_factory.mktemp("airflow"))
    one.airflow.start()
    one.airflow.rest.wait_for_dag("floe.status")
    one.airflow.rest.pause("floe.status")  # it would look up the connectors of all tests, every minute
    yield one
    one.stop()
