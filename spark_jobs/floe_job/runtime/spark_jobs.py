"""The Spark jobs of one slice: run, monitored, and cancelled."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from floe.config.secrets.mask import hide
from floe_job.contract.result import TaskResult
from floe_job.contract.task import Task
from floe_job.contract.work_done import Meter, Sum, WorkDone
from floe_job.runtime.spark_runner import context_of, is_connected, meter_of, run_on

log = logging.getLogger(__name__)

_WORKER_ENDED: Final = ("Python worker exited unexpectedly", "ExecutorLostFailure")
"""What Spark says where a worker, or the executor that has it, was killed, as for its memory."""

GROUP = "floe-slice"
"""Spark's name for the jobs of a slice: the context starts its workers by another one, beside it."""


class Progress(NamedTuple):
    """How many of the ``tasks`` that run are done. ``work``: of those among them of which it is known yet."""

    done: int = 0
    tasks: int = 0
    work: WorkDone = WorkDone()


class SparkJobs:
    """Runs the tasks of a slice; another thread than the one that made it may do so."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        # a session of Spark Connect is shared: what belongs to this job has its tags, which are of one thread
        self._tags: tuple[str, ...] = tuple(spark.getTags()) if is_connected(spark) else ()
        self._tasks = 0
        self._is_running = self._is_cancelled = False
        self._completed = 0
        self._meter: Meter = Sum()

    def run(self, tasks: Sequence[Task]) -> list[TaskResult]:
        """Run each task in a Spark task of its own and return the results of those attempts that succeeded.

        Where a worker ended by itself, all run once more, with the shortest answers of the brokers: what compressed batches
        take cannot be known before they are decompressed.
        """
        try:
            return self._run(tasks)
        except Exception as error:
            has_run_shortly = all(task.limits.has_short_answers for task in tasks)
            if self._is_cancelled or has_run_shortly or not any(text in str(error) for text in _WORKER_ENDED):
                raise
            log.warning(
                "a worker of Spark ended while it read or wrote: its memory may have been short. All %s tasks run once more, "
                "with short answers of the brokers. Spark says: %s",
                len(tasks),
                next(iter(hide(str(error)).splitlines()), ""),
            )
        return self._run([replace(one, limits=replace(one.limits, has_short_answers=True)) for one in tasks])

    def _run(self, tasks: Sequence[Task]) -> list[TaskResult]:
        self._tasks, self._completed, self._meter = len(tasks), 0, meter_of(self._spark)
        self._is_running = True
        try:
            if not is_connected(self._spark):
                context_of(self._spark).setJobGroup(GROUP, "the slice's tasks")  # of this thread
                return run_on(self._spark, tasks, self._meter)
            for tag in self._tags:
                self._spark.addTag(tag)
            self._spark.registerProgressHandler(self._note)
            try:
                return run_on(self._spark, tasks, self._meter)
            finally:
                self._spark.removeProgressHandler(self._note)
        finally:
            self._is_running = False

    def cancel(self) -> None:
        """Cancel the running tasks. Their results are lost."""
        self._is_cancelled = True
        if not is_connected(self._spark):
            context_of(self._spark).cancelAllJobs()
        for tag in self._tags:
            self._spark.interruptTag(tag)

    def progress(self) -> str:
        """Return the progress of the tasks."""
        if not self._tasks:
            return "no task had been started"
        if not self._is_running:
            return "all tasks were done"
        now = self.counts()
        return f"{now.done} of {now.tasks} tasks were done"

    def counts(self) -> Progress:
        """Return how far the tasks are that run; no tasks between two runs."""
        if not self._is_running:
            return Progress()
        if not is_connected(self._spark):
            tracker = context_of(self._spark).statusTracker()
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(GROUP)]
            own = {stage for job in jobs if job is not None for stage in job.stageIds}
            stages = [tracker.getStageInfo(stage) for stage in own.intersection(tracker.getActiveStageIds())]
            self._completed = sum(stage.numCompletedTasks for stage in stages if stage is not None)
        return Progress(min(self._completed, self._tasks), self._tasks, self._meter.value)

    def _note(self, stages: Iterable[Any] | None, *_: object, **__: object) -> None:
        """Keep what Spark Connect reports about its tasks."""
        self._completed = sum(stage.num_completed_tasks for stage in stages or ())
