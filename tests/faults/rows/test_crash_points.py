"""A kill at every durable step, and what comes of it; the list of steps is the code's own."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from floe.crash_points import CrashPoint
from stack.settings import REPOSITORY
from tests.faults.harness.run import STEPS
from tests.faults.harness.sink import MakeSink

USE = re.compile(r"\breach\(\s*CrashPoint\.(\w+)\s*\)")
IN_THE_TEST_OF = {"amend.": "row 36", "commit.marks": "row 30", "takeover.": "tests/integration/takeover"}
"""Points outside of an ordinary run, by how they begin, and where they are reached."""

TABLES = ("db.a", "db.b")


def steps_of(point: CrashPoint) -> tuple[str, ...]:
    """Return the steps that reach a point: each of them has a transaction."""
    first = point.split(".")[0]
    return (first,) if first in STEPS else STEPS


ORDINARY = [
    (step, point) for point in CrashPoint if not point.startswith(tuple(IN_THE_TEST_OF)) for step in steps_of(point)
]
"""Every point of an ordinary run, in every step that reaches it."""


@pytest.mark.ci
def test_every_crash_point_is_reached_from_exactly_one_place() -> None:
    files = [file for folder in ("plugins", "spark_jobs", "dags") for file in (REPOSITORY / folder).rglob("*.py")]
    uses = Counter(name for file in files for name in USE.findall(file.read_text()))
    assert uses == Counter({point.name: 1 for point in CrashPoint})


@pytest.mark.parametrize(("step", "point"), ORDINARY)
def test_kill_at_every_crash_point_leaves_each_record_once(make_sink: MakeSink, step: str, point: CrashPoint) -> None:
    sink = make_sink(tables=TABLES, **{"floe.max-records-per-run": 400})
    sink.producer.produce(300)
    run = sink.new_run()
    for one in STEPS:
        if one == step:
            assert run.step(one, crash=point).was_killed, point
            sink.producer.produce(200)
        assert run.persist(one).is_done
    sink.assert_exactly_once()


@pytest.mark.parametrize(("step", "point"), ORDINARY)
def test_next_run_completes_a_run_abandoned_at_any_crash_point(
    make_sink: MakeSink, step: str, point: CrashPoint
) -> None:
    sink = make_sink(tables=TABLES)
    sink.producer.produce(300)
    run = sink.new_run()
    for before in STEPS[: STEPS.index(step)]:
        assert run.step(before).is_done
    assert run.step(step, crash=point).was_killed, point
    sink.producer.produce(200)
    sink.assert_exactly_once()
