"""``write.distribution-mode=hash``: as many files as partitions, whoever read the rows."""

from __future__ import annotations

import json
import selectors
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from floe.control.announcement import Announcement
from floe.model.accounting import TableCounts
from floe.operators.spark.code_archive import archive
from floe_job.contract.result import TaskResult, WorkDone
from floe_job.contract.task import Task
from floe_job.runtime.spark_jobs import meter_of, run_on
from stack.services.spark_connect import ConnectServer
from stack.settings import free_port
from tests.support.repository import ROOT
from tests.support.runs.pipeline import MakePipeline, Pipeline, in_process
from tests.support.tables.fragile_io import FragileFileIO

FOLDERS = [str(ROOT / "plugins"), str(ROOT / "spark_jobs"), str(ROOT)]
HASH = {"iceberg.tables.write-props.write.distribution-mode": "hash"}
SIX: dict[str, Any] = {"iceberg.tables.default-partition-by": "day", "tasks.max": 4}
DAYS = 6

PYSPARK_LEAVES_SOCKETS = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""What ``collect`` read its rows from is closed by the garbage collector."""


def pizzas(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [{"id": i, "day": f"2026-01-{1 + i // 7 % DAYS:02d}"} for i in range(start, start + count)]


def prepared(pipeline: MakePipeline, **more: Any) -> Pipeline:
    """A pipeline of four topic partitions whose table is there, so that the next run needs one round only."""
    one = pipeline(4, **{**SIX, **more})
    one.produce([{"id": -1, "day": "2026-01-01"}], partition=0)
    one.run()
    for partition in range(4):
        one.produce(pizzas(210, start=1000 * partition), partition=partition)
    return one


def files(announced: Sequence[Announcement], table: str = "db.t") -> Counter[str]:
    """Return the number of files by partition."""
    return Counter(
        Path(file.file_path).parent.name
        for one in announced
        for table_files in one.files
        if ".".join((*table_files.reference.namespace, table_files.reference.name)) == table
        for spec in table_files.files
        for file in spec.files
    )


def written_ids() -> list[int]:
    return [-1, *(1000 * partition + i for partition in range(4) for i in range(210))]


@pytest.mark.parametrize(("keys", "expected"), [(HASH, 1), ({}, 4)], ids=["hash", "none"])
def test_hash_distribution_writes_one_file_per_partition(
    pipeline: MakePipeline, keys: dict[str, Any], expected: int
) -> None:
    one = prepared(pipeline, **keys)
    plan = one.plan()
    announced = one.write(plan)
    one.commit(plan)
    found = files(announced)
    assert len(found) == DAYS
    assert set(found.values()) == {expected}
    assert announced[0].tables["db.t"].counts == TableCounts(assigned=840, rows=840)
    assert one.column("id") == written_ids()


def test_record_counts_add_up_with_dead_letters_and_tombstones(pipeline: MakePipeline) -> None:
    one = prepared(pipeline, **HASH, **{"errors.tolerance": "all", "floe.deadletter.table": "db.letters"})
    one.produce([b"no json", None, {"id": "no number", "day": "2026-01-02"}], partition=1)
    plan = one.plan()
    announced = one.write(plan)
    one.commit(plan)
    assert announced[0].tables["db.t"].counts == TableCounts(assigned=842, rows=840, dead=2)
    assert set(files(announced).values()) == {1}
    assert sum(files(announced, "db.letters").values()) == 1
    assert one.column("id") == written_ids()


def test_new_columns_leave_no_file_without_them(pipeline: MakePipeline) -> None:
    one = prepared(pipeline, **HASH)
    one.produce([{"id": 5000, "day": "2026-01-02", "more": 1}], partition=3)
    rounds: list[list[TaskResult]] = []

    def run(tasks: Sequence[Task]) -> list[TaskResult]:
        rounds.append(in_process(tasks))
        return rounds[-1]

    one.run(run_tasks=run)
    assert [any(table.files for result in done for table in result.tables.values()) for done in rounds] == [False, True]
    assert one.column("id") == [*written_ids(), 5000]
    assert one.table().scan(row_filter="more = 1").to_arrow().num_rows == 1


def test_table_created_by_run_has_one_file_per_partition(pipeline: MakePipeline) -> None:
    one = pipeline(4, **SIX, **HASH)
    for partition in range(4):
        one.produce(pizzas(210, start=1000 * partition), partition=partition)
    plan = one.plan()
    announced = one.write(plan)
    one.commit(plan)
    assert sorted(files(announced).values()) == [1] * DAYS
    assert one.column("id") == written_ids()[1:]


def test_each_table_has_the_mode_of_its_own_properties(pipeline: MakePipeline) -> None:
    one = prepared(pipeline, **{"iceberg.tables": "db.spread,db.t"})
    with one.table("db.spread").transaction() as change:
        change.set_properties({"write.distribution-mode": "hash"})
    plan = one.plan()
    announced = one.write(plan)
    one.commit(plan)
    assert set(files(announced, "db.spread").values()) == {1}
    assert set(files(announced).values()) == {4}
    assert one.column("id", "db.spread") == one.column("id") == written_ids()


def test_tables_met_by_some_tasks_are_spread_in_next_round(pipeline: MakePipeline) -> None:
    routes = {"iceberg.tables": None, "iceberg.tables.dynamic-enabled": True, "iceberg.tables.route-field": "to"}
    one = pipeline(4, **SIX, **HASH, **routes)
    for partition in range(4):
        names = ["db.t", "db.late"] if partition > 1 else ["db.t"]
        for name in names:
            values = [{**pizza, "to": name} for pizza in pizzas(210, start=1000 * partition)]
            one.produce(values, partition=partition)
        if partition == 1:
            one.run()
    plan = one.plan()
    announced = one.write(plan)
    one.commit(plan)
    for name in ("db.t", "db.late"):
        assert set(files(announced, name).values()) == {1}
    assert one.column("id") == written_ids()[1:]
    assert one.column("id", "db.late") == written_ids()[421:]


def test_a_table_without_partitions_is_written_where_it_is_read(pipeline: MakePipeline) -> None:
    one = prepared(pipeline, **HASH, **{"iceberg.tables.default-partition-by": None})
    assert one.connector.reading.tasks == 4
    seen: list[int] = []

    def run(tasks: Sequence[Task]) -> list[TaskResult]:
        seen.extend(task.writers for task in tasks)
        return in_process(tasks)

    one.run(run_tasks=run)
    assert seen == [0] * 4
    assert one.column("id") == written_ids()


# -- on Spark ---------------------------------------------------------------------------------------------------------


def readable(
    files: Sequence[Any], _writes: object, _errors: object, seconds: float
) -> tuple[list[Any], list[Any], list[Any]]:
    """Wait as ``select`` does, which takes no descriptor above 1023: a process of many tests may have as many."""
    with selectors.DefaultSelector() as selector:
        for file in files:
            selector.register(file, selectors.EVENT_READ)
        return [key.fileobj for key, _ in selector.select(seconds)], [], []


@pytest.fixture(scope="module")
def classic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session on this machine that gives every task three attempts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", ":".join(FOLDERS))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        from pyspark.sql import SparkSession

        patch.setattr("pyspark.accumulators.select", SimpleNamespace(select=readable))
        folder = tmp_path_factory.mktemp("spark")
        builder = SparkSession.builder.master("local[2,3]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.local.dir", str(folder)).config("spark.sql.warehouse.dir", str(folder))
        spark = builder.config("spark.python.daemon.module", "floe_job.runtime.worker_daemon").getOrCreate()
        yield spark
        spark.stop()


@pytest.fixture
def connected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A session on a server of its own, which gets floe as it does from Airflow."""
    from pyspark.sql.connect.session import SparkSession

    monkeypatch.setattr(sys, "path", list(sys.path))
    server = ConnectServer(tmp_path, free_port())
    server.start()
    spark = SparkSession.builder.remote(f"sc://127.0.0.1:{server.port}").create()
    spark.addArtifacts(str(archive(tmp_path)), pyfile=True)
    yield spark
    spark.stop()
    server.stop()


def measured(spark: Any, one: Pipeline) -> tuple[list[Announcement], WorkDone]:
    """Write and commit what is new; return the announcements, and what the tasks have read."""
    plan, meter = one.plan(), meter_of(spark)
    announced = one.write(plan, lambda tasks: run_on(spark, tasks, meter))
    one.commit(plan)
    assert one.column("id") == written_ids()
    return announced, meter.value


def work_of(tasks: int) -> WorkDone:
    return WorkDone(
        tasks, 840, sum(len(json.dumps(row)) for start in range(0, 4000, 1000) for row in pizzas(210, start))
    )


@PYSPARK_LEAVES_SOCKETS
@pytest.mark.parametrize(("keys", "expected"), [(HASH, 1), ({}, 4)], ids=["hash", "none"])
def test_spark_writes_a_file_per_partition_and_counts(
    pipeline: MakePipeline, classic: Any, keys: dict[str, Any], expected: int
) -> None:
    announced, work = measured(classic, prepared(pipeline, **keys))
    assert sorted(files(announced).values()) == [expected] * DAYS
    assert work == work_of(tasks=work.tasks)


@PYSPARK_LEAVES_SOCKETS
def test_a_worker_that_is_killed_while_it_writes_is_run_again(
    pipeline: MakePipeline, classic: Any, tmp_path: Path
) -> None:
    one = prepared(pipeline, **HASH)
    marker = tmp_path / "killed"

    def run(tasks: Sequence[Task]) -> list[TaskResult]:
        io = FragileFileIO({"fragile.marker": str(marker)})
        return run_on(classic, [replace(t, targets=tuple(replace(one, io=io) for one in t.targets)) for t in tasks])

    plan = one.plan()
    announced = one.write(plan, run)
    one.commit(plan)
    assert marker.exists()
    assert sorted(files(announced).values()) == [1] * DAYS
    assert announced[0].tables["db.t"].counts == TableCounts(assigned=840, rows=840)
    assert one.column("id") == written_ids()


@pytest.mark.full
@pytest.mark.parametrize(("keys", "expected"), [(HASH, 1), ({}, 4)], ids=["hash", "none"])
def test_spark_connect_writes_and_counts_alike(
    pipeline: MakePipeline, connected: Any, keys: dict[str, Any], expected: int
) -> None:
    announced, work = measured(connected, prepared(pipeline, **keys))
    assert sorted(files(announced).values()) == [expected] * DAYS
    assert work == work_of(tasks=work.tasks)
