"""Sends one task's rows of one table to the tasks that write their partitions."""

from __future__ import annotations

import logging
from collections.abc import Collection

import pyarrow as pa
from pyiceberg.transforms import VoidTransform

from floe.control.data_files import SpecFiles
from floe.parquet.budget import WriteBudget
from floe.parquet.partitions import Partitioner
from floe_job.contract.task import TableTarget
from floe_job.shuffle.messages import PartitionRows, SendQueue


class PartitionSender:
    """Takes rows in the Arrow schema of the table's schema and adds them to a send queue by partition.

    Rows that wait to become a block count against the budget, which the writers of one task share.
    """

    def __init__(self, target: TableTarget, send_queue: SendQueue, budget: WriteBudget) -> None:
        """Send rows of ``target``, which exists. Raises UnsupportedColumn."""
        if target.metadata is None:
            msg = f"table {target.name!r} has rows but no metadata"
            raise AssertionError(msg)
        self._table = target.name
        self._partitioner = Partitioner(target.metadata.spec(), target.metadata.schema())
        self._send_queue = send_queue
        self._budget = budget
        self._builders: dict[int, BlockBuilder] = {}

    def write(self, rows: pa.Table) -> None:
        """Sort rows by partition and send full blocks."""
        if not rows.num_rows:
            return
        bytes_per_row = rows.nbytes / rows.num_rows
        for values, part in self._partitioner.split(rows):
            partition = repr(values)  # NaN is not equal to itself, but its text is
            writer = self._send_queue.writer_of(self._table, partition)
            if writer not in self._builders:
                self._builders[writer] = BlockBuilder(writer, self._table, self._send_queue, self._budget)
            self._builders[writer].add(partition, part, round(part.num_rows * bytes_per_row))
            self._budget.enforce()

    def close(self) -> tuple[SpecFiles | None, int]:
        """Send the rest. No file was written here."""
        for builder in self._builders.values():
            builder.flush()
        return None, 0

    def abort(self) -> None:
        """Drop what is not sent yet."""
        for builder in self._builders.values():
            builder.drop()


class BlockBuilder:
    """Rows of one table for one task that writes: the next block."""

    def __init__(self, writer: int, table: str, send_queue: SendQueue, budget: WriteBudget) -> None:
        self.waiting_bytes = 0
        self._writer = writer
        self._table = table
        self._send_queue = send_queue
        self._budget = budget
        self._rows: dict[str, list[pa.Table]] = {}

    def add(self, partition: str, rows: pa.Table, size: int) -> None:
        """Take rows of a partition that are ``size`` bytes in memory."""
        self._rows.setdefault(partition, []).append(rows)
        self.waiting_bytes += size
        self._budget.hold(self, size)
        if self.waiting_bytes >= self._send_queue.block_bytes:
            self.flush()

    def flush(self) -> None:
        """Add the waiting rows to the send queue, those of a partition together."""
        waiting = self.drop()
        if waiting:
            parts = tuple(
                PartitionRows(partition, batch.serialize().to_pybytes())
                for partition, tables in waiting.items()
                for batch in pa.concat_tables(tables).combine_chunks().to_batches()
            )
            self._send_queue.put(self._writer, self._table, parts)

    def finish(self) -> None:
        """There is no file to close."""

    def drop(self) -> dict[str, list[pa.Table]]:
        """Remove the waiting rows, which are not counted any more, and return them."""
        self._budget.release(self, self.waiting_bytes)
        waiting, self._rows, self.waiting_bytes = self._rows, {}, 0
        return waiting


# ``write.distribution-mode``: whether a table's rows are brought together by partition before files are written.


log = logging.getLogger(__name__)

MODE = "write.distribution-mode"
"""The table property (Iceberg: ``TableProperties.WRITE_DISTRIBUTION_MODE``)."""


def is_spread(target: TableTarget) -> bool:
    """Return whether rows go to the task that writes their partition.

    Rows of a table without partitions stay where they are read: one task for all of them would be a bottleneck.
    Iceberg's Spark writer does the same.
    """
    if target.metadata is None or _mode(target) not in ("hash", "range"):
        return False
    return any(not isinstance(field.transform, VoidTransform) for field in target.metadata.spec().fields)


def writing_tasks(targets: Collection[TableTarget], reading: int, most: int) -> int:
    """Return how many tasks write what ``reading`` tasks read; 0 where each writes its own rows.

    A task that reads alone already has all rows of a partition.
    """
    for target in targets:
        if _mode(target) not in ("none", "hash"):
            meaning = "hash" if _mode(target) == "range" else "none"
            log.warning(
                "table %s: %s=%r is taken as %s; set it to none or hash", target.name, MODE, _mode(target), meaning
            )
    return most if reading > 1 and any(is_spread(target) for target in targets) else 0


def _mode(target: TableTarget) -> str:
    return target.properties.get(MODE, "none").strip().lower()
