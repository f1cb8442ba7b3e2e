"""A kill at every durable step, and what comes of it; the list of steps is the code's own."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from faults.run import STEPS
from faults.sink import MakeSink
from floe.crash import CrashPoint
from stack.settings import REPOSITORY

USE = re.compile(r"\breach\(\s*CrashPoint\.(\w+)\s*\)")
IN_THE_TEST_OF = {"amend": "row 36", "takeover": "tests/integration/test_takeover.py"}
"""Points outside of an ordinary run, and where they are reached."""

ORDINARY = [p for p in CrashPoint if p.split(".")[0] not in IN_THE_TEST_OF]


@pytest.mark.quick
def test_every_crash_point_is_reached_from_exactly_one_place() -> None:
    files = [file for folder in ("plugins", "spark_jobs", "dags") for file in (REPOSITORY / folder).rglob("*.py")]
    uses = Counter(name for file in files for name in USE.findall(file.read_text()))
    assert uses == Counter({point.name: 1 for point in CrashPoint})


def step_of(point: CrashPoint) -> str:
    """Return the step that reaches a point first."""
    first = point.split(".")[0]
    return first if first in STEPS else "write"


@pytest.mark.parametrize("point", ORDINARY)
def test_a_kill_at_every_durable_step_leaves_each_record_there_once(make_sink: MakeSink, point: CrashPoint) -> None:
    sink = make_sink(**{"floe.max-records-per-run": 400})
    sink.producer.produce(300)
    run = sink.new_run()
    for step in STEPS:
        if step == step_of(point):
            assert run.step(step, crash=point).was_killed, point
            sink.producer.produce(200)
        assert run.persist(step).is_done
    sink.assert_exactly_once()


@pytest.mark.parametrize("point", ORDINARY)
def test_a_run_that_dies_for_good_at_any_step_is_made_up_for_by_the_next(
    make_sink: MakeSink, point: CrashPoint
) -> None:
    sink = make_sink()
    sink.producer.produce(300)
    run = sink.new_run()
    for step in STEPS[: STEPS.index(step_of(point))]:
        assert run.step(step).is_done
    assert run.step(step_of(point), crash=point).was_killed, point
    sink.producer.produce(200)
    sink.assert_exactly_once()
