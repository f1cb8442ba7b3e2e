"""A takeover that is killed at each step, and a sink that starts again in between."""

from __future__ import annotations

import multiprocessing
import os
import signal
from typing import Any

import pytest

from floe.config import parse_connector
from floe.crash_points import VARIABLE, CrashPoint
from floe.kafka.settings import KafkaSettings
from floe.takeover.exceptions import TakeoverBlocked
from floe.takeover.take_over import take_over
from tests.support.runs.takeover_stage import PASTA, PIZZAS, Stage

GONE = -signal.SIGKILL
POINTS = (
    f"{CrashPoint.TAKEOVER_TABLE}@1",
    f"{CrashPoint.TAKEOVER_TABLE_LANDED}@1",
    f"{CrashPoint.TAKEOVER_TABLE}@2",
    f"{CrashPoint.TAKEOVER_TABLE_LANDED}@2",
    f"{CrashPoint.TAKEOVER_GROUP}",
    f"{CrashPoint.TAKEOVER_GROUP_DELETED}",
    f"{CrashPoint.TRANSACTION_SENT}",
    f"{CrashPoint.TRANSACTION_COMMITTED}",
)
OTHERS = (POINTS[0], *POINTS[2:-1])


def _take_over_and_die(keys: dict[str, str], bootstrap: str, point: str) -> None:
    os.environ[VARIABLE] = point
    connector = parse_connector(keys)
    take_over(connector, KafkaSettings.of(connector, {"bootstrap.servers": bootstrap}))


def killed_at(stage: Stage, point: str) -> None:
    """Take over in a process of its own, and see it die."""
    context = multiprocessing.get_context("spawn")
    arguments = (dict(stage.connector.properties), stage.pipeline.bootstrap, point)
    process = context.Process(target=_take_over_and_die, args=arguments)
    process.start()
    process.join(60)
    assert process.exitcode == GONE, point


@pytest.mark.parametrize(
    "point", [POINTS[1], POINTS[-1], *(pytest.param(one, marks=pytest.mark.full) for one in OTHERS)]
)
def test_a_takeover_killed_at_any_step_is_finished_by_the_next(stage: Stage, point: str) -> None:
    killed_at(stage, point)
    again = stage.take_over()
    assert again.already == (point == CrashPoint.TRANSACTION_COMMITTED)
    stage.assert_taken()
    for name in (PIZZAS, PASTA):
        assert len(stage.sink.load(name).snapshots()) == 2
    assert stage.take_over().already
    stage.assert_goes_on()


@pytest.mark.parametrize("point", [CrashPoint.TAKEOVER_TABLE_LANDED, CrashPoint.TAKEOVER_GROUP])
def test_sink_can_start_again_after_a_killed_takeover(stage: Stage, point: str) -> None:
    killed_at(stage, point)
    # it commits nothing of what is in the tables that were taken over: their control offsets tell
    stage.produce(150, 160)
    stage.sink.announce(stage.written(PIZZAS, 150, 160), stage.written(PASTA, 150, 160), positions={0: 160})
    stage.take_over()
    stage.assert_taken(160)
    stage.assert_goes_on(160)


def test_sink_restarted_during_takeover_keeps_its_positions(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    from floe.takeover import take_over as takeover

    land = takeover.commit_takeover

    def land_and_meet_the_sink(*args: Any) -> Any:
        committed = land(*args)
        stage.sink.set_positions({0: 120})
        return committed

    monkeypatch.setattr(takeover, "commit_takeover", land_and_meet_the_sink)
    with pytest.raises(TakeoverBlocked, match="went from 150 to 120 during the takeover"):
        stage.take_over()
    assert stage.pipeline.position() == {0: 120}
