"""The sink DAG in a real Airflow: exactly once through scheduler, spark-submit and the task state store."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka as ck
import psutil
import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from stack.progress import wait_until
from tests.support.airflow import Deployment, first_run
from tests.support.runs.pipeline import Pipeline


def visible(pipeline: Pipeline, partitions: int) -> dict[tuple[int, int], bytes | None]:
    """Read the topic raw, read_committed: what must be in the table, by (partition, offset)."""
    consumer = ck.Consumer(
        {
            "bootstrap.servers": pipeline.bootstrap,
            "group.id": "oracle",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([ck.TopicPartition(pipeline.topic, p, 0) for p in range(partitions)])
    found: dict[tuple[int, int], bytes | None] = {}
    ended: set[int] = set()
    while len(ended) < partitions:
        for message in consumer.consume(10_000, 0.5):
            if message.error() is not None:
                ended.add(message.partition())
            else:
                found[(message.partition(), message.offset())] = message.value()
    consumer.close()
    return found


def rows_match(pipeline: Pipeline, partitions: int) -> bool:
    """Say whether the table holds exactly the visible records; their ids are unique."""
    values = [value for value in visible(pipeline, partitions).values() if value is not None]
    wanted = Counter(json.loads(value)["id"] for value in values)
    return Counter(pipeline.table().scan(selected_fields=("id",)).to_arrow().column("id").to_pylist()) == wanted


class Orders:
    """Numbered orders, some in transactions that are aborted, some followed by tombstones."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._random = random.Random(7)
        self._next = 0

    def take(self, count: int) -> Iterator[dict[str, object]]:
        for i in range(self._next, self._next + count):
            yield {"id": i, "sauce": self._random.choice(["red", "white", None]), "price": i / 8, "note": "ü" * (i % 3)}
        self._next += count

    def produce(self, count: int, partitions: int) -> None:
        table_files = count // partitions
        for partition in range(partitions):
            self._pipeline.produce(self.take(table_files // 2), partition=partition)
            self._pipeline.abort(self.take(50), partition=partition)
            self._pipeline.produce([None] * 20, partition=partition)
            self._pipeline.produce(self.take(table_files - table_files // 2), partition=partition)
        self._pipeline.abort(self.take(10), partition=0)


def test_200k_records_with_aborts_and_tombstones_are_added_once(
    deployment: Deployment, topic: Callable[..., str], admin: AdminClient, tmp_path: Path
) -> None:
    pizzas = deployment.add(topic(3), tmp_path)
    orders = Orders(pizzas)
    orders.produce(90_000, partitions=3)
    deployment.dag(pizzas.connector.name)
    runs = [first_run(deployment, pizzas)]

    admin.create_partitions([NewPartitions(pizzas.topic, 4)])[pizzas.topic].result(30)
    orders.produce(80_000, partitions=4)
    runs.append(deployment.run(pizzas))
    idle = deployment.run(pizzas)
    orders.produce(30_000, partitions=4)
    runs.append(deployment.run(pizzas))

    assert [run.state for run in [*runs, idle]] == ["success"] * 4
    assert idle.tasks == {"plan": "success", "write": "skipped", "commit": "skipped"}
    assert rows_match(pizzas, partitions=4)
    assert pizzas.table().scan().count() == 200_000
    snapshots = pizzas.table().snapshots()
    assert len(snapshots) == 3
    assert_books_balance(pizzas)


def assert_books_balance(pipeline: Pipeline) -> None:
    """Check the books in the summaries: per range, each offset once; per table, rows as in the files."""
    total = 0
    for snapshot in pipeline.table().snapshots():
        assert snapshot.summary is not None
        properties = snapshot.summary.additional_properties
        counts = json.loads(properties["floe.books"])
        for _topic, _partition, start, end, found_counts in counts["ranges"]:
            assert sum(found_counts.values()) == end - start
        assert counts["table"]["rows"] == int(properties["added-records"])
        total += sum(found_counts.get("tombstones", 0) for *_range, found_counts in counts["ranges"])
    assert total == 20 * (3 + 4 + 4)


@pytest.mark.full
def test_cleared_tasks_with_new_records_add_nothing_and_succeed(
    deployment: Deployment, topic: Callable[..., str], tmp_path: Path
) -> None:
    pizzas = deployment.add(topic(2), tmp_path)
    pizzas.produce({"id": i} for i in range(1000))
    deployment.dag(pizzas.connector.name)
    run = first_run(deployment, pizzas)
    for waiting in (False, True):
        if waiting:
            pizzas.produce({"id": i} for i in range(1000, 1100))
        for tasks in (["plan"], ["write"], ["commit"], None):
            assert run.clear(tasks) == "success", (waiting, tasks)
            assert pizzas.column("id") == list(range(1000))
            assert len(pizzas.table().snapshots()) == 1
    assert deployment.run(pizzas).state == "success"
    assert pizzas.column("id") == list(range(1100))


@pytest.mark.full
def test_an_idle_run_that_is_cleared_stays_idle(
    deployment: Deployment, topic: Callable[..., str], tmp_path: Path
) -> None:
    pizzas = deployment.add(topic(1), tmp_path)
    deployment.dag(pizzas.connector.name)
    run = first_run(deployment, pizzas)
    pizzas.produce([{"id": 1}])
    assert run.clear() == "success"
    assert sum(pizzas.position().values()) == 0


def test_parameters_limit_override_and_dry_run(
    deployment: Deployment, topic: Callable[..., str], tmp_path: Path
) -> None:
    pizzas = deployment.add(topic(1), tmp_path)
    deployment.dag(pizzas.connector.name)
    first_run(deployment, pizzas)
    pizzas.produce({"id": i} for i in range(100))

    dry = deployment.run(pizzas, {"dry_run": True})
    assert (dry.state, dry.tasks["write"]) == ("success", "skipped")
    assert "[0, 100)" in dry.log("plan")
    assert pizzas.position() == {0: 0}

    limited = deployment.run(pizzas, {"max_records": 30})
    assert limited.state == "success"
    assert pizzas.column("id") == list(range(30))

    refused = deployment.run(pizzas, {"config": {"iceberg.catalog.token": "x"}})
    assert refused.state == "failed"
    assert "secret" in refused.log("plan").lower()
    unknown = deployment.run(pizzas, {"config": {"iceberg.tables.evolve-schema-enable": "true"}})
    assert "iceberg.tables.evolve-schema-enabled" in unknown.log("plan")

    codec = {"iceberg.tables.write-props.write.parquet.compression-codec": "gzip", "floe.max-records-per-run": 30}
    assert deployment.run(pizzas, {"config": codec}).state == "success"
    assert pizzas.column("id") == list(range(60))


def test_bad_record_fails_run_and_is_named_in_log_once(
    deployment: Deployment, topic: Callable[..., str], tmp_path: Path
) -> None:
    pizzas = deployment.add(topic(1), tmp_path)
    pizzas.produce([{"id": 1}, b"oops", {"id": 2}])
    deployment.dag(pizzas.connector.name)
    run = first_run(deployment, pizzas)
    assert run.state == "failed"
    assert run.tasks == {"plan": "success", "write": "failed", "commit": "failed"}
    assert f"topic '{pizzas.topic}' partition 0 offset 1" in run.log("write")
    assert sum(pizzas.position().values()) == 0


@pytest.mark.parametrize(
    ("keys", "task", "words"),
    [
        ({"floe.kafka.conn-id": "nowhere"}, "plan", "connection 'nowhere'"),
        ({"floe.spark.conn-id": "nowhere"}, "write", "connection 'nowhere'"),
        ({"floe.spark.conn-id": "no_spark"}, "write", "of type 'http'"),
    ],
)
def test_missing_or_unsuitable_connection_is_named_in_error(
    deployment: Deployment, topic: Callable[..., str], tmp_path: Path, keys: dict[str, str], task: str, words: str
) -> None:
    pizzas = deployment.add(topic(1), tmp_path, **keys)
    pizzas.produce([{"id": 1}])
    deployment.dag(pizzas.connector.name)
    run = first_run(deployment, pizzas)
    assert (run.state, run.tasks[task]) == ("failed", "failed")
    assert words in run.log(task)


def test_cancelled_write_ends_driver_and_announces_nothing(
    deployment: Deployment, topic: Callable[..., str], tmp_path: Path
) -> None:
    # one record a batch, one batch a fetch: a quarter of a minute, while a task hears after some seconds that it is cancelled
    pizzas = deployment.add(topic(1), tmp_path, **{"consumer.override.max.partition.fetch.bytes": "1000"})
    pizzas.produce(({"id": i, "text": "x" * 500} for i in range(50_000)), **{"batch.size": 1000})
    rest, name = deployment.airflow.rest, pizzas.connector.name
    deployment.dag(name)
    run_id = rest.wait_for_scheduled_run(name)
    assert wait_until(lambda: driver_of(name) is not None, 120)
    driver = driver_of(name)
    assert driver is not None
    family = [driver, *driver.children(recursive=True)]
    path = f"/api/v2/dags/{name}/dagRuns/{run_id}/taskInstances/write"
    rest.call("PATCH", path, {"new_state": "failed"})
    rest.wait_for_run(name, run_id)
    _, alive = psutil.wait_procs(family, timeout=30)
    assert not alive, alive
    plan_start = dict.fromkeys(range(1), 0)
    from floe.control.topic_reader import control_ends, read_control
    from floe.kafka.admin import Cluster

    ends = control_ends(Cluster.of_control(pizzas.settings), pizzas.connector.control_topic)
    kinds = [m.headers for m in read_control(pizzas.settings, pizzas.connector.control_topic, plan_start, ends)]
    assert not [headers for headers in kinds if "floe-ranges" in headers]
    assert sum(pizzas.position().values()) == 0
    assert deployment.run(pizzas, {"max_records": 5_000}).state == "success"
    assert pizzas.table().scan().count() == 5_000


def driver_of(name: str) -> psutil.Process | None:
    """Return the Python driver of a connector's Spark job, once it runs."""
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
            if "python" in Path(command[0]).name and any(part.endswith("write_files.py") for part in command):
                submit = process.parent()
                if submit is not None and f"floe-{name}" in " ".join(submit.cmdline()) and process.pid != os.getpid():
                    return process
        except (psutil.NoSuchProcess, psutil.AccessDenied, IndexError):
            continue
    return None
