"""The Spark task that writes the files of whole partitions, from the rows that other tasks have read."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Self

from pyiceberg.io.pyarrow import schema_to_pyarrow

from floe.exceptions import FloeError
from floe.model.accounting import TableCounts
from floe.parquet.budget import WriteBudget
from floe_job.contract.result import Failure, TaskResult
from floe_job.contract.task import TableResult, TableTarget, Task
from floe_job.memory_tuning import tuned_memory
from floe_job.shuffle.messages import EndOfTask, RowBlock, SpillFile
from floe_job.task.read_task import SentRows
from floe_job.write.task_files import TargetFiles

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PartitionFiles:
    """Writes files one partition after the other, so that each has one file, or as many as its size requires.

    Nothing is written unless every task that read has sent all it has and lacked nothing: a file is closed only with
    final columns. ``readers``: the indices of those tasks.
    """

    targets: tuple[TableTarget, ...]
    readers: frozenset[int]
    writers: int

    @classmethod
    def of(cls, tasks: Sequence[Task]) -> Self:
        """Return what writes the rows that these tasks read."""
        return cls(tasks[0].targets, frozenset(task.index for task in tasks), tasks[0].writers)

    def run(self, sent: Iterable[SentRows]) -> Iterator[TaskResult]:
        """Take all that was sent to one task and write the rows; yield the results that were sent with them, and its own."""
        ended: dict[int, bool] = {}
        failure: Failure | None = None
        writer = 0
        with tuned_memory(), SpillFile.open() as store:
            for item in sent:
                match item:
                    case TaskResult():
                        yield item
                    case EndOfTask():
                        ended[item.task], writer = item.is_complete, item.writer
                    case RowBlock() if failure is None:
                        failure = _keep(store, item)
            lost = sorted(self.readers - ended.keys())
            if lost and failure is None:
                msg = f"what tasks {lost} read did not come through Spark's shuffle whole. Nothing was announced. Run again"
                failure = Failure(msg, retryable=True)
            if failure is not None:
                yield TaskResult(own_index(writer), failure=failure)
            elif all(ended.values()):
                yield self._write(store, writer)

    def _write(self, store: SpillFile, writer: int) -> TaskResult:
        targets = {target.name: target for target in self.targets}
        budget = WriteBudget()
        tables = {}
        try:
            for name, partitions in groupby(store.partitions(), key=lambda place: place[0]):
                tables[name] = _write_table(store, targets[name], [one for _, one in partitions], writer, budget)
        except FloeError as error:
            return TaskResult(own_index(writer), failure=Failure.of(error))
        except Exception as error:  # Spark would hide it in a Java stack trace
            log.exception("writing task %s failed", writer)
            return TaskResult(own_index(writer), failure=Failure.of(error, list(targets)))
        return TaskResult(own_index(writer), tables=tables)


def own_index(writer: int) -> int:
    """Return the index of the result of a task that writes; tasks that read have the indices from 0 on."""
    return -1 - writer


def _keep(store: SpillFile, block: RowBlock) -> Failure | None:
    try:
        store.add(block)
    except OSError as error:
        msg = (
            f"rows of table {block.table!r} could not be kept on the local disk: {error}. Give Spark's workers room in "
            "spark.local.dir, or lower floe.max-records-per-run. Nothing was announced"
        )
        return Failure(msg, retryable=True)
    return None


def _write_table(
    store: SpillFile, target: TableTarget, partitions: Sequence[str], writer: int, budget: WriteBudget
) -> TableResult:
    assert target.metadata is not None  # noqa: S101 - rows were made for it
    schema = schema_to_pyarrow(target.metadata.schema())
    files_of_table = TargetFiles(target, writer, budget)
    try:
        for partition in partitions:
            for rows in store.rows(target.name, partition, schema):
                files_of_table.write(rows)
            files_of_table.finish_files()
        files, count = files_of_table.close()
    finally:
        files_of_table.abort()
    return TableResult(TableCounts(rows=count), files)
