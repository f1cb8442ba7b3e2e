"""Running tasks on Spark: by RDD in a classic session, by Arrow in a Spark Connect session."""

import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from floe_job.task import Task, TaskResult, run_task, run_tasks


def run_on(spark: Any, tasks: Sequence[Task]) -> list[TaskResult]:
    """Run each task in a Spark task of its own and return the results of those attempts that succeeded."""
    if not tasks:
        return []
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return _run_connected(spark, tasks)
    results: list[TaskResult] = spark.sparkContext.parallelize(tasks, len(tasks)).mapPartitions(run_tasks).collect()
    return results


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
