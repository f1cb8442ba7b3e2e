"""The Spark jobs of one slice: run, monitored, and cancelled."""

from __future__ import annotations

import logging
import pickle
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, NamedTuple, Protocol, Self

import pyarrow as pa

from floe.config.secrets.mask import hide
from floe.model.plan import Slice
from floe_job.contract.result import Addition, Meter, Sum, TaskResult, WorkDone
from floe_job.contract.task import Task
from floe_job.task.read_task import SentRows, run_task, run_tasks, send_tasks
from floe_job.task.write_task import PartitionFiles

log = logging.getLogger(__name__)

_WORKER_ENDED: Final = ("Python worker exited unexpectedly", "ExecutorLostFailure")
"""What Spark says where a worker, or the executor that has it, was killed, as for its memory."""

GROUP = "floe-slice"
"""Spark's name for the jobs of a slice: the context starts its workers by another one, beside it."""


class JobProgress(NamedTuple):
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

    def counts(self) -> JobProgress:
        """Return how far the tasks are that run; no tasks between two runs."""
        if not self._is_running:
            return JobProgress()
        if not is_connected(self._spark):
            tracker = context_of(self._spark).statusTracker()
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(GROUP)]
            own = {stage for job in jobs if job is not None for stage in job.stageIds}
            stages = [tracker.getStageInfo(stage) for stage in own.intersection(tracker.getActiveStageIds())]
            self._completed = sum(stage.numCompletedTasks for stage in stages if stage is not None)
        return JobProgress(min(self._completed, self._tasks), self._tasks, self._meter.value)

    def _note(self, stages: Iterable[Any] | None, *_: object, **__: object) -> None:
        """Keep what Spark Connect reports about its tasks."""
        self._completed = sum(stage.num_completed_tasks for stage in stages or ())


# Running tasks on Spark: by RDD in a classic session or context, by Arrow in a Spark Connect session.
#
# Spark shuffles only where a table's rows are spread by partition: then the tasks that read send their rows and
# results to those that write. What the tasks have read that have ended is summed up meanwhile: a classic context has
# accumulators; in a Connect session the results arrive one by one, in the order of the tasks.


def run_on(spark: Any, tasks: Sequence[Task], meter: Meter | None = None) -> list[TaskResult]:
    """Run each task in a Spark task of its own and return the results of those attempts that succeeded.

    ``meter``: of :func:`meter_of`, to which the work of tasks is added as they end.
    """
    if not tasks:
        return []
    meter = meter_of(spark) if meter is None else meter
    if tasks[0].writers:
        files = PartitionFiles.of(tasks)
        run = _spread_connected if is_connected(spark) else _spread
        return run(spark, tasks, files, meter)
    if is_connected(spark):
        return _run_connected(spark, tasks, meter)

    def measured(tasks: Iterator[Task]) -> Iterator[TaskResult]:
        for result in run_tasks(tasks):
            meter.add(WorkDone.of(result))
            yield result

    results: list[TaskResult] = context_of(spark).parallelize(tasks, len(tasks)).mapPartitions(measured).collect()
    return results


def meter_of(spark: Any) -> Meter:
    """Return a meter for one call of :func:`run_on`."""
    if is_connected(spark):
        return Sum()
    accumulator: Meter = context_of(spark).accumulator(WorkDone(), Addition())
    return accumulator


def is_connected(spark: Any) -> bool:
    """Return whether this is a session of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def context_of(spark: Any) -> Any:
    """Return the context of a classic session; a submitted job has only the context."""
    return getattr(spark, "sparkContext", spark)


def _run_connected(spark: Any, tasks: Sequence[Task], meter: Meter) -> list[TaskResult]:
    pickled = [pickle.dumps(task) for task in tasks]

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for i in batch.column(0).to_pylist():
                result = pickle.dumps(run_task(pickle.loads(pickled[i])))  # noqa: S301 - made by this driver
                yield pa.RecordBatch.from_arrays([pa.array([result], pa.binary())], ["result"])

    # one row in each partition: one Spark task per task
    frame = spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(run, "result binary")
    return _received(frame, meter)


def _received(frame: Any, meter: Meter) -> list[TaskResult]:
    results: list[TaskResult] = []
    for row in frame.toLocalIterator():  # one by one; ``collect`` waits for the last of them
        results.append(pickle.loads(row[0]))  # noqa: S301 - made by this job's own workers
        meter.add(WorkDone.of(results[-1]))
    return results


# -- by partition -----------------------------------------------------------------------------------------------------


def _spread(spark: Any, tasks: Sequence[Task], files: PartitionFiles, meter: Meter) -> list[TaskResult]:
    def measured(tasks: Iterator[Task]) -> Iterator[tuple[int, SentRows]]:
        for writer, item in send_tasks(tasks):
            if isinstance(item, TaskResult):
                meter.add(WorkDone.of(item))
            yield writer, item

    read = context_of(spark).parallelize(tasks, len(tasks)).mapPartitions(measured)
    # a key is the number of its partition; PySpark's own hash would be of the seed that each interpreter has
    results: list[TaskResult] = read.partitionBy(files.writers, int).values().mapPartitions(files.run).collect()
    return results


def _spread_connected(spark: Any, tasks: Sequence[Task], files: PartitionFiles, meter: Meter) -> list[TaskResult]:
    pickled, write = [pickle.dumps(task) for task in tasks], pickle.dumps(files)

    def send(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        own_tasks = (pickle.loads(pickled[i]) for batch in batches for i in batch.column(0).to_pylist())  # noqa: S301
        for writer, item in send_tasks(own_tasks):
            columns = [pa.array([writer], pa.int32()), pa.array([pickle.dumps(item)], pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, ["writer", "sent"])

    def receive(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sent = (pickle.loads(one.as_buffer()) for batch in batches for one in batch.column(1))  # noqa: S301
        for result in pickle.loads(write).run(sent):  # noqa: S301 - made by this driver
            yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(result)], pa.binary())], ["result"])

    read = spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(send, "writer int, sent binary")
    written = read.repartitionById(files.writers, "writer").mapInArrow(receive, "result binary")
    return _received(written, meter)


# The progress of a long write, in the log.
#
# Spark says how many tasks have ended. Tasks read like numbers of offsets, so that is about the share of the slice.
# What they have read is in their results; of tasks whose results have not arrived yet, it is about as much.


EVERY = 30.0
"""Seconds between two lines."""


class Counted(Protocol):
    """Tasks that run elsewhere."""

    def counts(self) -> JobProgress:
        """Return how far the tasks are that run."""


class ProgressLog:
    """Logs how far a slice is, from a thread of its own, while the context is open. A write of few seconds logs nothing."""

    def __init__(self, jobs: Counted, slice_: Slice, every: float = EVERY) -> None:
        self._jobs = jobs
        self._slice = slice_
        self._every = every
        self._ended = threading.Event()
        self.thread = threading.Thread(target=self._run, name="floe-progress", daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._ended.set()

    def _run(self) -> None:
        begun = time.monotonic()
        while not self._ended.wait(self._every):
            try:
                now = self._jobs.counts()
            except Exception as error:  # noqa: BLE001 - of Spark, whatever it is: the write does not depend on it
                log.warning(
                    "Spark does not tell how far the tasks are: %s", next(iter(hide(str(error)).splitlines()), "")
                )
                return
            if now.tasks and not self._ended.is_set():
                log.info("%s", progress_line(self._slice, now, time.monotonic() - begun))


def progress_line(slice_: Slice, now: JobProgress, seconds: float) -> str:
    """Say how far a slice is after some seconds, and when it may end, by the tasks that have ended."""
    done, tasks, work = now
    text = f"{done} of {tasks} tasks done, of {slice_.records:,} offsets, after {seconds:.0f} s"
    if not done:
        return text
    left = f"about {seconds * (tasks - done) / done:.0f} s left"
    if not work.tasks:
        offsets = slice_.records * done // tasks
        return f"{text}: about {offsets:,} offsets, {offsets / seconds:,.0f} a second, {left}"
    about, share = ("", 1.0) if work.tasks == done else ("about ", done / work.tasks)
    records, size = round(work.records * share), work.size * share / 1e6
    return (
        f"{text}: {about}{records:,} records, {size:,.1f} MB of keys and values, {records / seconds:,.0f} records/s, "
        f"{size / seconds:,.1f} MB/s, {left}"
    )
