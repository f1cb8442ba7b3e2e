"""Rows 19, 20 and 23: a broker that dies, hangs, or is another one. And, as row 21, answers of it that are lost."""

from __future__ import annotations

import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stack import processes
from stack.progress import wait_until
from stack.services.broker import Broker
from tests.faults.harness.ports import lasting_port, restart
from tests.faults.harness.run import STEPS, timeout_s
from tests.faults.harness.sink import MakeSink
from tests.support.kafka.proxy import Api, KafkaProxy, listeners


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Broker]:
    """A broker of the test's own, to be harmed; clients reach it also by a proxy, at ``victim.proxy``."""
    one = Broker(tmp_path / "victim", lasting_port())
    one.start()
    yield one
    process = one.process
    if process is not None:
        processes.send(process, signal.SIGCONT)
    one.stop()


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, KafkaProxy]]:
    """A broker and a proxy in front of it."""
    port, controller_port, behind, front = (lasting_port() for _ in range(4))
    properties = listeners(port, controller_port, behind, front)
    broker = Broker(tmp_path_factory.mktemp("proxied"), port, controller_port, properties)
    broker.start()
    proxy = KafkaProxy(front, behind)
    yield broker, proxy
    proxy.close()
    broker.stop()


def pause(broker: Broker, signum: signal.Signals) -> None:
    """Hold a broker by SIGSTOP, or let it go on."""
    assert broker.process is not None
    processes.send(broker.process, signum)


def test_row_19_broker_killed_during_produce_loses_nothing(victim: Broker, make_sink: MakeSink) -> None:
    sink = make_sink(victim.bootstrap)
    sink.producer.produce(1_000)
    sink.run()
    producing = threading.Thread(target=sink.producer.produce, args=(20_000,), kwargs={"pad": 200, "flush": 120})
    producing.start()
    assert wait_until(lambda: len(sink.producer.acks.places) > 3_000, timeout_s(60), pause=0.01)
    restart(victim)
    producing.join()

    run = sink.new_run()
    assert run.persist("plan").is_done
    writing = run.start("write")
    wait_until(lambda: "offsets, for" in writing.tail() or not writing.child.is_running, timeout_s(30), pause=0.002)
    restart(victim)
    writing.finish()
    assert run.persist("write", tries=10).is_done
    committing = run.held("commit", "commit.positions")
    restart(victim)
    committing.go_on()
    committing.finish()
    assert run.persist("commit", tries=10).is_done
    report = sink.assert_exactly_once()
    assert report.records >= 20_000


@pytest.mark.parametrize("step", STEPS)
def test_row_20_hanging_broker_fails_step_and_next_try_succeeds(victim: Broker, make_sink: MakeSink, step: str) -> None:
    sink = make_sink(victim.bootstrap)
    sink.producer.produce(500)
    sink.run()
    sink.producer.produce(500)
    run = sink.new_run()
    for before in STEPS[: STEPS.index(step)]:
        assert run.step(before).is_done
    pause(victim, signal.SIGSTOP)
    try:
        hanging = run.start(step).finish(timeout_s(180))
    finally:
        pause(victim, signal.SIGCONT)
    assert hanging.is_retryable, hanging
    assert run.persist(step, tries=10).is_done
    sink.assert_exactly_once()


@pytest.mark.parametrize(
    ("step", "api"),
    [
        ("plan", Api.END_TXN),
        ("write", Api.END_TXN),
        ("write", Api.FETCH),
        ("write", Api.INIT_PRODUCER_ID),
        ("write", Api.PRODUCE),
        ("commit", Api.END_TXN),
        ("commit", Api.TXN_OFFSET_COMMIT),
    ],
)
def test_row_21_request_whose_answer_is_lost_changes_nothing(
    proxied: tuple[Broker, KafkaProxy], make_sink: MakeSink, step: str, api: Api
) -> None:
    broker, proxy = proxied
    sink = make_sink(broker.bootstrap)
    sink.kafka = {"bootstrap.servers": proxy.bootstrap}
    sink.producer.produce(500)
    run = sink.new_run()
    for one in STEPS:
        if one == step:
            proxy.lose_answer(api)
        assert run.persist(one).is_done
    assert proxy.faults[f"answer to {api.name} lost"], proxy.faults
    sink.assert_exactly_once()
    proxy.faults.clear()


def test_row_23_other_cluster_at_same_address_is_refused(victim: Broker, make_sink: MakeSink) -> None:
    sink = make_sink(victim.bootstrap)
    sink.producer.produce(500)
    sink.run()
    sink.observe()
    snapshots = sink.snapshots()
    victim.stop()
    shutil.rmtree(victim.folder / "data")
    victim.start()
    sink.create_topic(sink.topic, 2)
    sink.producer.produce(100)
    refused = sink.refused()
    assert "re-created" in refused.message or "cluster" in refused.message, refused
    assert "reset_topics" in refused.message, refused
    assert sink.snapshots() == snapshots
    report = sink.judge(is_quiet=False)
    assert report.is_green, str(report)
