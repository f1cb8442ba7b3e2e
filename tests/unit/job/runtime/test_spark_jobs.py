"""Tasks whose worker was killed run once more, with answers of the brokers that no burst makes large."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from floe.config import parse_connector
from floe_job.contract.result import Sum, TaskResult
from floe_job.contract.task import DeadLetterRules, RouteRules, Task
from floe_job.runtime import spark_jobs
from floe_job.runtime.spark_jobs import SparkJobs
from tests.support.connectors import MINIMAL

KILLED = "Job aborted: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)\n\tat a.b.C"
CONNECTOR = parse_connector(MINIMAL)
TASK = Task(0, (), (), RouteRules(CONNECTOR.routing), DeadLetterRules(CONNECTOR.errors, "pizzas", "c"), {})


class Spark:
    """A classic context that fails as it is told, and says what it was asked to run."""

    def __init__(self, *errors: str) -> None:
        self.errors = list(errors)
        self.asked: list[list[bool]] = []

    def setJobGroup(self, *_: str) -> None:
        """Name the jobs."""

    def cancelAllJobs(self) -> None:
        """Cancel nothing."""

    def run(self, _spark: object, tasks: Sequence[Task], _meter: object) -> list[TaskResult]:
        self.asked.append([task.limits.has_short_answers for task in tasks])
        if self.errors:
            raise RuntimeError(self.errors.pop(0))
        return []


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Any:
    def make(*errors: str) -> tuple[SparkJobs, Spark]:
        spark = Spark(*errors)
        monkeypatch.setattr(spark_jobs, "run_on", spark.run)
        monkeypatch.setattr(spark_jobs, "meter_of", lambda _: Sum())
        return SparkJobs(spark), spark

    return make


def test_tasks_of_a_worker_that_was_killed_run_once_more_with_short_answers(
    jobs: Any, caplog: pytest.LogCaptureFixture
) -> None:
    made, spark = jobs(KILLED)
    assert made.run([TASK, TASK]) == []
    assert spark.asked == [[False, False], [True, True]]
    assert "All 2 tasks run once more" in caplog.text and "a.b.C" not in caplog.text


def test_a_second_one_fails_the_slice(jobs: Any) -> None:
    made, spark = jobs(KILLED, KILLED)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        made.run([TASK])
    assert spark.asked == [[False], [True]]


def test_an_error_of_a_task_is_none_of_its_worker(jobs: Any) -> None:
    made, spark = jobs("the broker is away")
    with pytest.raises(RuntimeError, match="the broker is away"):
        made.run([TASK])
    assert spark.asked == [[False]]


def test_what_was_cancelled_does_not_run_again(jobs: Any) -> None:
    made, spark = jobs(KILLED)
    made.cancel()
    with pytest.raises(RuntimeError):
        made.run([TASK])
    assert spark.asked == [[False]]
