"""Running tasks on Spark: by RDD in a classic session or context, by Arrow in a Spark Connect session.

Spark shuffles only where a table's rows are spread by partition: then the tasks that read send their rows and results
to those that write. What the tasks have read that have ended is summed up meanwhile: a classic context has accumulators; in a
Connect session the results arrive one by one, in the order of the tasks.
"""

import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from floe_job.contract.result import TaskResult
from floe_job.contract.task import Task
from floe_job.contract.work_done import Addition, Meter, Sum, WorkDone
from floe_job.task.read_task import SentRows, run_task, run_tasks, send_tasks
from floe_job.task.write_task import PartitionFiles


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
