"""For all tests: when each is run, which worker runs it, and the broker that they share."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.support.metastores.server import started

if TYPE_CHECKING:
    from stack.services.broker import Broker
    from stack.services.postgresql import PostgreSql
    from stack.services.rest_catalog import RestCatalog
    from stack.services.schema_registry import SchemaRegistry
    from tests.support.metastores.glue import Moto
    from tests.support.metastores.hive_metastore import HiveMetastore
    from tests.support.metastores.nessie import Nessie
    from tests.support.tables.catalog_proxy import CatalogProxy

TESTS = Path(__file__).parent
MARKERS = {"unit": "quick", "contracts": "quick", "integration": "ci", "faults": "full", "bench": "ci"}
"""When the tests of a folder are run, unless a test says it itself."""

TOGETHER = ("tests/integration/airflow/",)
"""Folders whose tests one worker runs: there is one Airflow."""

MANY_THREADS = 60

# tests run side by side: how long an example takes says nothing
settings.register_profile("quick", deadline=None, max_examples=25)
settings.register_profile("ci", deadline=None)
settings.register_profile("full", deadline=None, max_examples=400)
settings.load_profile("ci")


def pytest_configure() -> None:
    """End on SIGTERM as on Ctrl-C: brokers and schedulers of the session are stopped on the way out."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)


class Threads:
    """How many threads were left when garbage was last collected."""

    left = 0


def pytest_runtest_logfinish() -> None:
    """End the Kafka clients of tests that refer to an error of theirs: the error's traceback has them, in a circle.

    Each has threads that wake up all the time; some hundred of them take half a core.
    """
    if len(os.listdir("/proc/self/task")) > Threads.left + MANY_THREADS:  # noqa: PTH208 - a Path for each takes longer
        gc.collect()
        Threads.left = len(os.listdir("/proc/self/task"))  # noqa: PTH208


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test its marker: quick, ci, full or hours."""
    for item in items:
        if not any(item.get_closest_marker(marker) for marker in ("ci", "full", "hours")):
            folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
            item.add_marker(MARKERS.get(folder, "quick"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker whole files, and whole folders of those that need one Airflow."""
    from xdist.scheduler import LoadFileScheduling

    class ByFileOrFolder(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            folders = (folder for folder in TOGETHER if nodeid.startswith(folder))
            return next(folders, None) or super()._split_scope(nodeid)

    return ByFileOrFolder(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def proxy_ports() -> tuple[int, int]:
    """Where the broker listens for a proxy in front of it, and where it says that clients find it."""
    from stack.settings import free_port

    return free_port(), free_port()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory, proxy_ports: tuple[int, int]) -> Iterator[Broker]:
    """The broker that no test harms: on free ports, its data in a folder of this session, one for each worker.

    `broker.bootstrap` is its address.
    """
    from stack.services.broker import Broker
    from stack.settings import free_port
    from tests.support.kafka.compaction import QUICK_CLEANER
    from tests.support.kafka.proxy import listeners

    port, controller_port = free_port(), free_port()
    properties = QUICK_CLEANER | listeners(port, controller_port, *proxy_ports)
    one = Broker(tmp_path_factory.mktemp("kafka"), port, controller_port, properties)
    one.start()
    yield one
    gc.collect()  # clients that are not referred to any more would say on the terminal that the broker is gone
    one.stop()


@pytest.fixture(scope="session")
def rest_catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestCatalog]:
    """Iceberg's own REST catalog server, one for each worker; each test has tables of its own there."""
    from stack.services.rest_catalog import RestCatalog
    from stack.settings import free_port

    with started(RestCatalog(tmp_path_factory.mktemp("rest"), free_port())) as one:
        yield one


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgreSql]:
    """A real PostgreSQL server, one for each worker; each test has a catalog of its own there."""
    from stack.exceptions import Unsuitable
    from stack.services.postgresql import PostgreSql
    from stack.settings import free_port

    try:
        one = PostgreSql(tmp_path_factory.mktemp("postgresql"), free_port())
    except Unsuitable as missing:
        pytest.skip(str(missing))
    try:
        one.start()
        yield one
    finally:
        one.remove()


@pytest.fixture(scope="session")
def nessie(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nessie]:
    """A real Nessie server, one for each worker; each test has tables of its own there."""
    from tests.support.metastores.nessie import Nessie

    with started(Nessie(tmp_path_factory.mktemp("nessie"))) as one:
        yield one


@pytest.fixture(scope="session")
def hive_metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveMetastore]:
    """A real Hive metastore, one for each worker; tests drop their tables."""
    from stack.settings import free_port
    from tests.support.metastores.hive_metastore import HiveMetastore

    with started(HiveMetastore(tmp_path_factory.mktemp("hive"), free_port())) as one:
        yield one


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moto]:
    """AWS as moto imitates it, one for each worker; tests drop their tables."""
    from stack.settings import free_port
    from tests.support.metastores.glue import Moto

    with started(Moto(tmp_path_factory.mktemp("moto"), free_port())) as one:
        yield one


@pytest.fixture(scope="session")
def schema_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaRegistry]:
    """A real schema registry, one for each worker; each test has subjects of its own there."""
    from stack.services.schema_registry import SchemaRegistry
    from stack.settings import free_port

    with started(SchemaRegistry(tmp_path_factory.mktemp("registry"), free_port())) as one:
        yield one


@pytest.fixture
def catalog_proxy(rest_catalog: RestCatalog) -> Iterator[CatalogProxy]:
    """A proxy in front of the REST catalog."""
    from tests.support.tables.catalog_proxy import CatalogProxy

    one = CatalogProxy(rest_catalog.uri)
    yield one
    one.close()
