"""One real Airflow for all tests of this folder: one worker runs them, and it ends with the last of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

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


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Remember whether a test failed, for the fixture below."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(autouse=True)
def failed_tasks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Print what the failed tasks of a test that failed have logged: Airflow's state ``failed`` says no more."""
    begun = datetime.now(UTC)
    yield
    if request.node.stash.get(FAILED, False) and "deployment" in request.fixturenames:
        one: Deployment = request.getfixturevalue("deployment")
        print(one.failures_since(begun))
