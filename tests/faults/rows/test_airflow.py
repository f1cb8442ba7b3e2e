"""Rows that go through a real Airflow: its tasks are killed, cleared, doubled, and its scheduler dies."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from stack import processes
from stack.progress import wait_until
from tests.faults.harness.airflow_site import Site, kill_once
from tests.faults.harness.run import timeout_s
from tests.faults.harness.sink import Sink
from tests.faults.harness.zygote import Zygote
from tests.support.airflow import DagRun
from tests.support.kafka.proxy import Api


@pytest.fixture(scope="module")
def site(zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    one = Site.set_up(tmp_path_factory.mktemp("site"), zygote)
    yield one
    one.close()


@pytest.fixture
def sink(site: Site, tmp_path: Path) -> Iterator[Sink]:
    folder = tmp_path / f"t{abs(hash(tmp_path.name)) % 10**8}"
    folder.mkdir()
    one = site.sink(folder)
    yield one
    site.kafka_proxy.on_answer = site.catalog_proxy.after = site.catalog_proxy.before = None
    one.close()


def test_row_04_driver_killed_after_announcing_announces_once(site: Site, sink: Sink) -> None:
    sink.producer.produce(500)
    killed: list[int] = []
    kill = kill_once(lambda process: any("write_files.py" in part for part in process.cmdline()), killed)
    site.kafka_proxy.on_answer = lambda api, port: kill(port) if api == Api.END_TXN else None
    run = site.begin(sink)
    assert site.end(run) == "success"
    assert killed
    assert "an earlier try announced all of plan" in run.log("write")
    assert len(sink.announcements()) == 1
    sink.assert_exactly_once()


def test_row_07_commit_task_killed_after_catalog_finds_snapshot(site: Site, sink: Sink) -> None:
    sink.producer.produce(500)
    killed: list[int] = []
    site.catalog_proxy.after = kill_once(lambda _: True, killed)
    run = site.begin(sink)
    assert site.end(run) == "success"
    assert killed
    assert "committed before" in run.log("commit")
    assert sink.snapshots() == 1
    sink.assert_exactly_once()


def test_row_13_plan_committed_by_hand_and_dag_at_once_adds_once(site: Site, sink: Sink) -> None:
    sink.producer.produce(500)
    by_hand: list[bool] = []
    runs: list[DagRun] = []

    def meanwhile() -> None:
        site.catalog_proxy.before = None
        other = sink.new_run()
        other.keep_plan(site.plan_of(runs[0]))
        by_hand.append(other.persist("commit").is_done)

    site.catalog_proxy.before = meanwhile
    runs.append(site.begin(sink))
    assert site.end(runs[0]) == "success"
    assert by_hand == [True]
    assert sink.snapshots() == 1
    sink.assert_exactly_once()


def test_row_16_run_by_hand_beside_dag_run_adds_range_once(site: Site, sink: Sink) -> None:
    sink.producer.produce(500)
    beside = threading.Thread(target=lambda: [sink.new_run().carry_out() for _ in range(3)])
    run = site.begin(sink)
    beside.start()
    site.end(run)
    beside.join()
    sink.producer.produce(200)
    assert site.run_again(sink).state == "success"
    sink.assert_exactly_once()


def test_row_18_committed_run_cleared_with_new_records_is_idle(site: Site, sink: Sink) -> None:
    sink.producer.produce(500)
    run = site.begin(sink)
    assert site.end(run) == "success"
    sink.producer.produce(100)
    for tasks in (["commit"], None):
        assert run.clear(tasks) == "success"
        assert sink.snapshots() == 1
        assert sum(sink.positions().values()) == 500
    assert "nothing to do" in run.log("commit")
    assert site.run_again(sink).state == "success"
    sink.assert_exactly_once()


def test_row_40_scheduler_killed_during_run_loses_nothing(site: Site, sink: Sink) -> None:
    sink.producer.produce(20_000, pad=100)
    airflow = site.deployment.airflow
    killed: list[int] = []

    def kill_scheduler(api: int, _port: int) -> None:
        """When the first positions of the plan are written."""
        if api == Api.TXN_OFFSET_COMMIT and not killed:
            killed.extend(schedulers(site))
            for pid in killed:
                psutil.Process(pid).kill()

    site.kafka_proxy.on_answer = kill_scheduler
    run = site.begin(sink)
    assert wait_until(lambda: bool(killed), timeout_s(120))
    site.kafka_proxy.on_answer = None
    airflow.stop()
    airflow.start()
    site.end(run)
    sink.producer.produce(500)
    assert site.run_again(sink).state == "success"
    sink.assert_exactly_once()


def schedulers(site: Site) -> list[int]:
    """Return the pids of Airflow's schedulers."""
    leader = site.deployment.airflow.process
    assert leader is not None
    found = []
    for one in processes.family(leader):
        command = psutil.Process(one.pid).cmdline()
        if any("airflow" in part for part in command) and "scheduler" in " ".join(command):
            found.append(one.pid)
    return found
