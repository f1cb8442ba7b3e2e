"""The Spark jobs of one slice: run, monitored, and cancelled."""

from collections.abc import Iterable, Sequence
from typing import Any

from floe_job.contract.result import TaskResult
from floe_job.contract.task import Task
from floe_job.runtime.spark_runner import context_of, is_connected, run_on

GROUP = "floe-slice"
"""Spark's name for the jobs of a slice: the context starts its workers by another one, beside it."""


class SparkJobs:
    """Runs the tasks of a slice; another thread than the one that made it may do so."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        # a session of Spark Connect is shared: what belongs to this job has its tags, which are of one thread
        self._tags: tuple[str, ...] = tuple(spark.getTags()) if is_connected(spark) else ()
        self._tasks = 0
        self._is_running = False
        self._completed = 0

    def run(self, tasks: Sequence[Task]) -> list[TaskResult]:
        """Run each task in a Spark task of its own and return the results of those attempts that succeeded."""
        self._tasks, self._completed, self._is_running = len(tasks), 0, True
        try:
            if not is_connected(self._spark):
                context_of(self._spark).setJobGroup(GROUP, "the slice's tasks")  # of this thread
                return run_on(self._spark, tasks)
            for tag in self._tags:
                self._spark.addTag(tag)
            self._spark.registerProgressHandler(self._note)
            try:
                return run_on(self._spark, tasks)
            finally:
                self._spark.removeProgressHandler(self._note)
        finally:
            self._is_running = False

    def cancel(self) -> None:
        """Cancel the running tasks. Their results are lost."""
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
        done, tasks = self.counts()
        return f"{done} of {tasks} tasks were done"

    def counts(self) -> tuple[int, int]:
        """Return how many of the tasks that run were done, and how many they are; none between two runs."""
        if not self._is_running:
            return 0, 0
        if not is_connected(self._spark):
            tracker = context_of(self._spark).statusTracker()
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(GROUP)]
            own = {stage for job in jobs if job is not None for stage in job.stageIds}
            stages = [tracker.getStageInfo(stage) for stage in own.intersection(tracker.getActiveStageIds())]
            self._completed = sum(stage.numCompletedTasks for stage in stages if stage is not None)
        return min(self._completed, self._tasks), self._tasks

    def _note(self, stages: Iterable[Any] | None, *_: object, **__: object) -> None:
        """Keep what Spark Connect reports about its tasks."""
        self._completed = sum(stage.num_completed_tasks for stage in stages or ())
