"""The write task on a Spark cluster of two workers: they share the work, and one that is killed costs no row."""

from __future__ import annotations

import json
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from floe.operators.exceptions import ConnectionUnsuitable
from floe.operators.write import WriteFilesOperator
from tests.support.keys import KEY_TEXT
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.spark import SparkCluster
from tests.support.task_instance import TaskInstance

PARTITIONS = 4
EACH = 30_000
"""Enough that a range of its own is a task of its own."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    one = SparkCluster(tmp_path_factory.mktemp("cluster"))
    one.start()
    yield one
    one.stop()


@pytest.fixture
def pizzas(pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Pipeline:
    """A topic of four partitions, and a table that has its columns: the first run makes it, in this process."""
    one = pipeline(PARTITIONS, **{"tasks.max": PARTITIONS})
    one.produce([{"id": -1, "text": "x"}], partition=0)
    one.run()
    for partition in range(PARTITIONS):
        first = partition * EACH
        one.produce(({"id": i, "text": "x" * 200} for i in range(first, first + EACH)), partition=partition)
    kafka = {"conn_type": "kafka", "extra": {"bootstrap.servers": one.bootstrap}}
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DEFAULT", json.dumps(kafka))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    return one


def connect(monkeypatch: pytest.MonkeyPatch, cluster: SparkCluster, **conf: str) -> None:
    """Point the Spark connection at the cluster; no task starts before both executors are there."""
    everybody = {
        "spark.executor.memory": "600m",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
        "spark.cores.max": "2",
    }
    spark = {
        "conn_type": "spark",
        "host": "spark://127.0.0.1",
        "port": cluster.port,
        "extra": {"conf": everybody | conf},
    }
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(spark))
    monkeypatch.setenv("FLOE_SECRET_KEY", KEY_TEXT)


def write_and_commit(pizzas: Pipeline) -> dict[str, Any]:
    """Plan, let the operator submit the job, commit."""
    plan = pizzas.plan()
    write = WriteFilesOperator(task_id="write", connector=pizzas.connector)
    message = write.execute({"ti": TaskInstance(plan)})  # type: ignore[arg-type]
    pizzas.commit(plan)
    return message


@contextmanager
def watching(look: Callable[[], object]) -> Iterator[None]:
    """Look again and again, in a thread, while the block runs."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            look()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_two_workers_share_a_run_and_bring_nothing_but_python(
    cluster: SparkCluster, pizzas: Pipeline, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    connect(
        monkeypatch,
        cluster,
        **{"spark.archives": f"{packed_environment(tmp_path)}#environment"},
        **{"spark.pyspark.python": "./environment/bin/python"},
    )
    seen: dict[int, set[str]] = {0: set(), 1: set()}
    with watching(lambda: [seen[i].update(python[0] for python in cluster.pythons(i)) for i in seen]):
        message = write_and_commit(pizzas)
    assert list(seen.values()) == [{"./environment/bin/python"}] * 2
    assert message["tables"]["db.t"]["rows"] == PARTITIONS * EACH
    assert pizzas.column("id") == list(range(-1, PARTITIONS * EACH))


@pytest.mark.full
def test_an_executor_that_is_killed_with_its_task_costs_no_row(
    cluster: SparkCluster, pizzas: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(monkeypatch, cluster)
    killed: list[psutil.Process] = []

    def kill_one_at_work() -> None:
        executor = cluster.executor(0)
        if not killed and executor is not None and cluster.pythons(0):
            killed.append(executor)
            executor.kill()

    with watching(kill_one_at_work):
        message = write_and_commit(pizzas)
    assert killed
    assert message["tables"]["db.t"] == {
        **message["tables"]["db.t"],
        "assigned": PARTITIONS * EACH,
        "rows": PARTITIONS * EACH,
    }
    assert pizzas.column("id") == list(range(-1, PARTITIONS * EACH))


def packed_environment(folder: Path) -> Path:
    """Pack a Python environment as small as one can be: it lends its packages from the one that runs this test.

    A real one is packed by venv-pack or conda-pack and has them inside; what Spark does with it is the same.
    """
    base = Path(sys.base_prefix)
    lent = next(path for path in sys.path if path.endswith("site-packages"))
    root = folder / "environment"
    packages = root / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (root / "bin").mkdir(parents=True)
    packages.mkdir(parents=True)
    (root / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    (root / "pyvenv.cfg").write_text(f"home = {base / 'bin'}\ninclude-system-site-packages = false\n")
    (packages / "lent.pth").write_text(f"{lent}\n")
    archive = folder / "environment.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(root, arcname=".")
    return archive


@pytest.mark.parametrize(
    ("conf", "words"),
    [
        ({"spark.authenticate.secret": "hush"}, "spark-defaults.conf"),
        ("spark.executor.memory=2g", "give it as an object"),
    ],
)
def test_a_secret_or_a_line_of_text_is_refused_as_conf(
    conf: object, words: str, pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    pizzas = pipeline()
    pizzas.produce([{"id": 1}])
    spark = {"conn_type": "spark", "host": "spark://127.0.0.1", "port": 7077, "extra": {"conf": conf}}
    kafka = {"conn_type": "kafka", "extra": {"bootstrap.servers": pizzas.bootstrap}}
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DEFAULT", json.dumps(kafka))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(spark))
    monkeypatch.setenv("FLOE_SECRET_KEY", KEY_TEXT)
    write = WriteFilesOperator(task_id="write", connector=pizzas.connector)
    with pytest.raises(ConnectionUnsuitable, match=words):
        write.execute({"ti": TaskInstance(pizzas.plan())})  # type: ignore[arg-type]
