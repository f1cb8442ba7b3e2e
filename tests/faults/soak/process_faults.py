"""Faults to the processes of a run: killed, held, doubled, given up."""

from __future__ import annotations

import time
from collections.abc import Callable

from stack.progress import wait_until
from tests.faults.harness.run import STEPS, Run
from tests.faults.harness.spark_workers import SPARK, workers
from tests.faults.soak.stage import Stage

POINTS = {
    "plan": ("plan.freeze", "plan.frozen", "plan.open", "transaction.sent", "transaction.committed", "plan.opened"),
    "write": (
        "write.files",
        "write.files@2",
        "write.files.closed",
        "write.files.closed@3",
        "write.announce",
        "transaction.sent",
        "transaction.committed",
        "write.announced",
    ),
    "commit": (
        "commit.table",
        "commit.table@2",
        "commit.table.landed",
        "commit.table.landed@2",
        "commit.positions",
        "transaction.committed",
        "commit.positions.moved",
    ),
}
"""Where each step can be killed. (The commit's own ``transaction.sent`` costs its time-out: row 14 is about it.)"""

MAX_TRIES = 6


def carry_on(stage: Stage, run: Run, steps: tuple[str, ...] = STEPS) -> bool:
    """Carry out steps with retries, as Airflow does; say whether all of them succeeded."""
    for step in steps:
        for _ in range(MAX_TRIES):
            outcome = stage.note(run.step(step))
            if not outcome.is_retryable:
                break
            time.sleep(0.2)
        if step == "plan" and (not outcome.is_done or not outcome.facts["slices"]):
            return outcome.is_done
    return outcome.is_done


def kill_at_a_crash_point(stage: Stage, run: Run) -> None:
    """Kill one step where the code names a durable step, then have the run tried again."""
    step = stage.chance.choice(STEPS)
    for before in STEPS[: STEPS.index(step)]:
        carry_on(stage, run, (before,))
    stage.note(run.step(step, crash=stage.chance.choice(POINTS[step])))
    carry_on(stage, run)


def kill_at_a_random_moment(stage: Stage, run: Run) -> None:
    """Kill one step at any time, then have the run tried again."""
    step = stage.chance.choice(STEPS)
    for before in STEPS[: STEPS.index(step)]:
        carry_on(stage, run, (before,))
    attempt = run.start(step)
    time.sleep(stage.chance.uniform(0, 0.8))
    stage.note(attempt.kill())
    carry_on(stage, run)


def zombie(stage: Stage, run: Run) -> None:
    """Hold one step; others go on, and in a later round it wakes."""
    step = stage.chance.choice(STEPS[1:])
    for before in STEPS[: STEPS.index(step)]:
        carry_on(stage, run, (before,))
    if run.plan is None or not run.plan["slices"]:
        return
    points = [p for p in POINTS[step] if "@" not in p and not p.startswith("transaction")]
    attempt = run.start(step, crash=f"{stage.chance.choice(points)}:STOP")
    if attempt.child.wait_until_stopped(30):
        stage.zombies.append((stage.round_number + stage.chance.randrange(4), attempt))
    else:
        stage.note(attempt.finish())
    if stage.chance.random() < 0.5:
        # the same run is tried again while its zombie sleeps
        carry_on(stage, run)


def two_runs(stage: Stage, run: Run) -> None:
    """Have two runs do everything at the same time."""
    other = stage.sink.new_run(max_records=stage.chance.choice([None, 100, 1000]))
    attempts = [one.start("run") for one in (run, other)]
    for attempt in attempts:
        stage.note(attempt.finish())


def twins(stage: Stage, run: Run) -> None:
    """Have every task finish twice."""
    run.change(twins=True)
    carry_on(stage, run)


def give_up(stage: Stage, run: Run) -> None:
    """Kill a run at a crash point and never try it again."""
    step = stage.chance.choice(STEPS)
    for before in STEPS[: STEPS.index(step)]:
        carry_on(stage, run, (before,))
    stage.note(run.step(step, crash=stage.chance.choice(POINTS[step])))


def kill_python_worker(stage: Stage) -> None:
    """Kill a Python worker of Spark while it reads or writes."""
    stage.sink.producer.produce(20_000, pad=60)
    run = stage.sink.new_run(spark=SPARK)
    if carry_on(stage, run, ("plan",)) and run.plan is not None and run.plan["slices"]:
        writing = run.start("write")
        wait_until(lambda: bool(workers(writing)) or not writing.child.is_running, 60, pause=0.01)
        time.sleep(stage.chance.uniform(0, 0.3))
        for worker in workers(writing)[:1]:
            worker.kill()
        stage.note(writing.finish())
        carry_on(stage, run)


FAULTS: dict[str, Callable[[Stage, Run], None]] = {
    "kill at a crash point": kill_at_a_crash_point,
    "kill at a random moment": kill_at_a_random_moment,
    "zombie, held and woken later": zombie,
    "two runs at once": two_runs,
    "twins of every task": twins,
    "run dies for good": give_up,
}
