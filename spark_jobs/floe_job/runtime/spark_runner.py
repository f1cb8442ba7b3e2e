"""Running tasks on Spark: by RDD in a classic session or context, by Arrow in a Spark Connect session.

Spark shuffles only where a table's rows are spread by partition: then the tasks that read send their rows and results
to those that write.
"""

import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from floe_job.contract.result import TaskResult
from floe_job.contract.task import Task
from floe_job.task.read_task import run_task, run_tasks, send_tasks
from floe_job.task.write_task import PartitionFiles


def run_on(spark: Any, tasks: Sequence[Task]) -> list[TaskResult]:
    """Run each task in a Spark task of its own and return the results of those attempts that succeeded."""
    if not tasks:
        return []
    if tasks[0].writers:
        files = PartitionFiles.of(tasks)
        return _spread_connected(spark, tasks, files) if is_connected(spark) else _spread(spark, tasks, files)
    if is_connected(spark):
        return _run_connected(spark, tasks)
    results: list[TaskResult] = context_of(spark).parallelize(tasks, len(tasks)).mapPartitions(run_tasks).collect()
    return results


def is_connected(spark: Any) -> bool:
    """Return whether this is a session of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def context_of(spark: Any) -> Any:
    """Return the context of a classic session; a submitted job has only the context."""
    return getattr(spark, "sparkContext", spark)


def _run_connected(spark: Any, tasks: Sequence[Task]) -> list[TaskResult]:
    pickled = [pickle.dumps(task) for task in tasks]

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for i in batch.column(0).to_pylist():
                result = pickle.dumps(run_task(pickle.loads(pickled[i])))  # noqa: S301 - made by this driver
                yield pa.RecordBatch.from_arrays([pa.array([result], pa.binary())], ["result"])

    # one row in each partition: one Spark task per task
    frame = spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(run, "result binary")
    return [pickle.loads(row[0]) for row in frame.collect()]  # noqa: S301 - made by this job's own workers


# -- by partition -----------------------------------------------------------------------------------------------------


def _spread(spark: Any, tasks: Sequence[Task], files: PartitionFiles) -> list[TaskResult]:
    read = context_of(spark).parallelize(tasks, len(tasks)).mapPartitions(send_tasks)
    # a key is the number of its partition; PySpark's own hash would be of the seed that each interpreter has
    results: list[TaskResult] = read.partitionBy(files.writers, int).values().mapPartitions(files.run).collect()
    return results


def _spread_connected(spark: Any, tasks: Sequence[Task], files: PartitionFiles) -> list[TaskResult]:
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
    return [pickle.loads(row[0]) for row in written.collect()]  # noqa: S301 - made by this job's own workers
