"""A write that takes longer than `floe.write.timeout`: ended, said so, and the next run reads at most half."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from floe.model.exceptions import WriteTimeout
from floe.model.plan import Plan, Slice
from floe.operators import write_timeout
from floe.operators.spark import code_archive
from floe.operators.write import WriteFilesOperator
from floe.operators.write_timeout import followed_up
from floe.tables.exceptions import SliceNotWritten, TablesBehind
from floe_job.application.write_files import write_files
from floe_job.contract.result import TaskResult
from floe_job.contract.task import Task
from floe_job.runtime import spark_jobs
from floe_job.runtime import time_limit as time_limit_module
from floe_job.runtime.job_files import JobRequest
from floe_job.runtime.spark_jobs import run_on
from floe_job.runtime.time_limit import Jobs, TimeLimit
from stack.progress import wait_until
from stack.services.spark_connect import ConnectServer
from stack.settings import free_port
from tests.support.keys import KEY_TEXT
from tests.support.runs.mishaps import BAD, GOOD, replace_table
from tests.support.runs.pipeline import MakePipeline, Pipeline, in_process
from tests.support.runs.records import ids
from tests.support.runs.replays import opened
from tests.support.task_instance import TaskInstance

TIMEOUT = "floe.write.timeout"
CAPACITY = 30
"""Offsets that the cluster of these tests writes in time."""

SLOW_FETCHES = {"consumer.override.fetch.min.bytes": 100_000_000, "consumer.override.fetch.wait.max.ms": 50_000}
"""The broker holds each answer back for 50 s, as there is not that much to send."""


class SlowCluster:
    """In the place of Spark's jobs: what is too much hangs until it is cancelled."""

    def __init__(self, _: object) -> None:
        self._cancelled = threading.Event()

    def run(self, tasks: Sequence[Task]) -> list[TaskResult]:
        if sum(part.end - part.start for task in tasks for part in task.range_parts) > CAPACITY:
            assert self._cancelled.wait(60)
        return in_process(tasks)

    def cancel(self) -> None:
        self._cancelled.set()

    def progress(self) -> str:
        return "0 of 2 tasks were done"


def time_limit(_: int, slice_: Slice, jobs: Jobs) -> TimeLimit:
    """Give a slice that is too much little time, and any other one enough."""
    return TimeLimit(50 if slice_.records > CAPACITY else 60_000, slice_, jobs)


@pytest.fixture
def slow(pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """A table, a hundred records to write, and a cluster that is too slow for them."""
    monkeypatch.setattr("floe_job.runtime.spark_jobs.SparkJobs", SlowCluster)
    monkeypatch.setattr("floe_job.runtime.time_limit.TimeLimit", time_limit)
    pizzas = pipeline(2, **{TIMEOUT: 60_000})
    for partition in range(2):
        pizzas.produce(ids(50 * partition, 50 * partition + 50), partition=partition)
    return pizzas


def write(pizzas: Pipeline, plan: Plan) -> WriteTimeout | None:
    """Write as the task does; return the error of a write that took too long."""
    order = JobRequest(plan, pizzas.connector, pizzas.settings, pizzas.key(plan))
    try:
        write_files(None, order)
    except WriteTimeout as error:
        return followed_up(error, plan, pizzas.connector, pizzas.settings)
    return None


def run(pizzas: Pipeline, max_records: int | None = None) -> tuple[int, WriteTimeout | None]:
    """Carry out a run; return how many offsets it planned, and the error of its write."""
    plan = pizzas.plan(max_records)
    error = write(pizzas, plan)
    if error is None and plan.slices:
        pizzas.commit(plan)
    elif error is not None:
        with pytest.raises(SliceNotWritten, match=r"took longer than floe\.write\.timeout"):
            pizzas.committer(plan).commit([], str(error))
    return sum(slice_.records for slice_ in plan.slices), error


def test_slow_write_halves_the_range_until_it_fits(slow: Pipeline) -> None:
    read, error = run(slow)
    assert (read, sum(slow.position().values())) == (100, 0)
    assert str(error).startswith(
        "the write took longer than floe.write.timeout (0.05 s): 0 of 2 tasks were done after 0."
    )
    assert "in a live slice of 100 offsets. Nothing of it was announced." in str(error)
    assert "The next run reads at most half, 50 offset(s)." in str(error)
    read, error = run(slow)
    assert read == 50
    assert error is not None
    # it fits, and then grows: 25, and what is left, which is too much again
    assert run(slow) == (25, None)
    assert sum(slow.position().values()) == 25
    read, error = run(slow)
    assert read == 50
    assert error is not None
    assert run(slow) == (25, None)
    while run(slow)[0]:
        pass
    assert slow.column("id") == list(range(100))


def test_limit_is_gone_once_a_run_reads_all_there_is(slow: Pipeline) -> None:
    for _ in range(2):
        run(slow)
    assert run(slow, max_records=20) == (20, None)
    assert slow.plan().positions[0].limits == {}


@pytest.mark.parametrize(("asked", "read"), [(10, 10), (70, 50)])
def test_smaller_of_limit_and_max_records_counts(slow: Pipeline, asked: int, read: int) -> None:
    run(slow)
    assert sum(slice_.records for slice_ in slow.plan(asked).slices) == read


def test_limit_is_removed_with_the_timeout(slow: Pipeline) -> None:
    run(slow)
    plan = slow.changed(**{TIMEOUT: None}).plan()
    assert (plan.slices[0].records, plan.positions[0].limits) == (100, {})


def test_cleared_run_of_a_slow_write_keeps_its_range(slow: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = slow.plan()
    assert write(slow, plan) is not None
    monkeypatch.setattr(f"{__name__}.CAPACITY", 1000)
    from floe.planning.live_plan import open_plan

    assert open_plan(plan, slow.connector, slow.settings, slow.key(plan))
    assert write(slow, plan) is None
    slow.commit(plan)
    assert slow.column("id") == list(range(100))


def test_slow_write_of_a_range_read_meanwhile_limits_none(slow: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    zombie = slow.plan()
    monkeypatch.setattr(f"{__name__}.CAPACITY", 1000)
    assert run(slow) == (100, None)
    monkeypatch.setattr(f"{__name__}.CAPACITY", 30)
    assert str(write(slow, zombie)).endswith("No limit was stored.")
    assert slow.plan().positions[0].limits == {}
    # nor where another run is somewhere in between
    slow.produce(ids(100, 200), partition=0)
    zombie = slow.plan()
    assert run(slow, 30) == (30, None)
    assert "could not be stored (Superseded, see the log)" in str(write(slow, zombie))
    assert slow.plan().positions[0].limits == {}


def test_slow_catch_up_limits_its_table_alone(slow: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    pizzas = slow.changed(**{"iceberg.tables": f"{GOOD}, {BAD}"})
    monkeypatch.setattr(f"{__name__}.CAPACITY", 1000)
    plan = pizzas.plan()
    assert write(pizzas, plan) is None
    replace_table(pizzas, BAD)
    with pytest.raises(TablesBehind):
        pizzas.commit(plan)
    monkeypatch.setattr(f"{__name__}.CAPACITY", 60)
    pizzas.produce(ids(100, 140), partition=0)
    plan = pizzas.plan()
    assert [slice_.records for slice_ in plan.slices] == [40, 140]
    error = write(pizzas, plan)
    assert "catch-up slice of 140 offsets" in str(error)
    with pytest.raises(TablesBehind):
        pizzas.committer(plan).commit([plan.slice_id(plan.slices[0])], str(error))
    pizzas.produce(ids(140, 190), partition=0)
    assert [slice_.records for slice_ in pizzas.plan().slices] == [50, 70]


def test_slow_replay_is_not_halved_and_says_what_to_do(slow: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.CAPACITY", 1000)
    assert run(slow) == (100, None)
    before = slow.plan().positions
    monkeypatch.setattr(f"{__name__}.CAPACITY", 30)
    plan, effective = opened(slow, overlap="append")
    error = write(effective, plan)
    assert "Trigger the replay again for the ranges that were not written, with max_records of at most 50," in str(
        error
    )
    assert slow.plan().positions == before
    assert slow.column("id") == list(range(100))


# -- the real driver --------------------------------------------------------------------------------------------------


@pytest.fixture
def submitted(pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """A connector whose write task submits to a local Spark, and ten records."""
    pizzas = pipeline(**{"iceberg.tables.auto-create-enabled": True})
    pizzas.produce(ids(0, 10))
    kafka = {"conn_type": "kafka", "extra": {"bootstrap.servers": pizzas.bootstrap}}
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DEFAULT", json.dumps(kafka))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[2]"}))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("FLOE_SECRET_KEY", KEY_TEXT)
    return pizzas


def submit(pizzas: Pipeline, plan: Plan) -> dict[str, Any]:
    write = WriteFilesOperator(task_id="write", connector=pizzas.connector)
    return write.execute({"ti": Airflows(plan)})  # type: ignore[arg-type]


def children() -> set[int]:
    """Return the processes below this one."""
    return {process.pid for process in psutil.Process().children(recursive=True)}


class Airflows(TaskInstance):
    """A task instance that takes what the task leaves."""

    def xcom_push(self, key: str, value: Any) -> None:
        """Keep nothing of it."""


def test_driver_ends_a_read_that_hangs(submitted: Pipeline) -> None:
    """The workers wait for the broker far longer than the slice may take."""
    hanging = submitted.changed(**{TIMEOUT: 2000, **SLOW_FETCHES})
    plan, before = hanging.plan(), children()
    with pytest.raises(
        WriteTimeout,
        match=r"\(2 s\): (0 of 1 tasks were done|no task had been started) after 2.* at most half, 5 offset",
    ) as found:
        submit(hanging, plan)
    assert found.value.__cause__ is None
    assert wait_until(lambda: children() <= before, 20)
    next_plan = submitted.changed(**{TIMEOUT: 60_000}).plan()
    assert [slice_.records for slice_ in next_plan.slices] == [5]


def test_driver_that_hangs_is_killed(submitted: Pipeline, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It has begun its slice and then does nothing at all, its own clock included."""
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    (jobs / "write_files.py").write_text(
        "import signal, sys, pathlib\n"
        "from floe_job.runtime.job_files import JobRequest, SliceMark\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "order = JobRequest.take(path)\n"
        "SliceMark.of(path).set(order.plan.slice_id(order.todo[0]))\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
        "signal.pause()\n"
    )
    monkeypatch.setattr(code_archive, "application", lambda: jobs / "write_files.py")
    monkeypatch.setattr(write_timeout, "LATER", 0.5)
    pizzas, before = submitted.changed(**{TIMEOUT: 1000}), children()
    with pytest.raises(WriteTimeout, match=r"the driver hung and was killed.* at most half, 5 offset"):
        submit(pizzas, pizzas.plan())
    assert wait_until(lambda: children() <= before, 20), [psutil.Process(pid) for pid in children() - before]
    assert [slice_.records for slice_ in pizzas.plan().slices] == [5]


@pytest.mark.full
def test_connect_driver_ends_tasks_and_a_server_that_hang(
    submitted: Pipeline, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = ConnectServer(tmp_path, free_port())
    server.start()
    try:
        connection = {"conn_type": "spark_connect", "host": "127.0.0.1", "port": server.port}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
        hanging = submitted.changed(**{TIMEOUT: 3000, **SLOW_FETCHES})
        with pytest.raises(WriteTimeout, match=r"0 of 1 tasks were done .* at most half, 5 offset"):
            submit(hanging, hanging.plan())
        monkeypatch.setattr(spark_jobs, "run_on", lambda *jobs: os.kill(server.pid, signal.SIGSTOP) or run_on(*jobs))
        monkeypatch.setattr(time_limit_module, "GRACE", 0.5)
        with pytest.raises(WriteTimeout, match=r"at most half, 2 offset"):
            submit(hanging, hanging.plan())
    finally:
        os.kill(server.pid, signal.SIGCONT)
        server.stop()
    assert hanging.position() == {0: 0}
