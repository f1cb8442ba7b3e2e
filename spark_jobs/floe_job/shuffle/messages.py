"""What tasks that read send to tasks that write: rows by partition, and an end marker once all were sent.

Results are sent the same way. Spark keeps the output of one attempt of each task that reads, all of it or none, so a
task that ran twice sends neither rows nor its result twice.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import IO, Self

import pyarrow as pa

BUFFERED_BYTES = 64 * 1024 * 1024
"""Bytes of row blocks that Spark's Python worker gathers before it sends them."""
MAX_BLOCK_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class PartitionRows:
    """Rows of one partition of a table, as one encapsulated Arrow IPC message without the schema."""

    partition: str
    rows: bytes = field(repr=False)


@dataclass(frozen=True)
class RowBlock:
    """Parts of one table. ``task`` read them, and this is its ``number``-th block."""

    table: str
    task: int
    number: int
    parts: tuple[PartitionRows, ...]


@dataclass(frozen=True)
class EndOfTask:
    """A task's last message to a ``writer``: all was sent. Unless ``is_complete``, the task has to run again."""

    task: int
    writer: int
    is_complete: bool


class SendQueue:
    """The row blocks of one task that wait to be sent, each with the number of the task that it is for."""

    def __init__(self, task: int, writers: int) -> None:
        """Send to ``writers`` tasks."""
        self.block_bytes = block_bytes(writers)
        self._task = task
        self._writers = writers
        self._count = 0
        self._waiting: list[tuple[int, RowBlock]] = []

    def writer_of(self, table: str, partition: str) -> int:
        """Return the task that writes a partition: the same one in every task."""
        digest = blake2b(f"{table} {partition}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self._writers

    def put(self, writer: int, table: str, parts: tuple[PartitionRows, ...]) -> None:
        """Add a row block."""
        self._waiting.append((writer, RowBlock(table, self._task, self._count, parts)))
        self._count += 1

    def take(self) -> Iterator[tuple[int, RowBlock]]:
        """Yield and remove all blocks."""
        waiting, self._waiting = self._waiting, []
        yield from waiting


def block_bytes(writers: int) -> int:
    """Return the maximum size of a row block (Arrow's bytes in memory).

    PySpark's ``partitionBy`` gathers ten times as many items as there are partitions, at most a thousand, before it
    checks their size.
    """
    return min(MAX_BLOCK_BYTES, BUFFERED_BYTES // min(10 * max(writers, 1), 1000))


# Row blocks on the local disk until all were received. Then rows can be read partition by partition.


SPARK_FOLDERS = "SPARK_LOCAL_DIRS"
"""Spark sets this variable for its Python workers to the folders with room on disk."""


class SpillFile:
    """Keeps row blocks in a file without a name, which the system removes with the process. Only positions are in memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._end = 0
        self._parts: dict[tuple[str, str], list[tuple[int, int, int, int]]] = {}

    @classmethod
    def open(cls) -> Self:
        """Open a file where Spark has room on disk. Raises OSError."""
        folder = os.environ.get(SPARK_FOLDERS, "").split(",")[0]
        return cls(tempfile.TemporaryFile(dir=folder if folder and Path(folder).is_dir() else None))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # what could not be written was reported when it was added
            self._file.close()

    def add(self, block: RowBlock) -> None:
        """Write a row block. Raises OSError."""
        for part in block.parts:
            self._file.write(part.rows)
            place = (block.task, block.number, self._end, len(part.rows))
            self._parts.setdefault((block.table, part.partition), []).append(place)
            self._end += len(part.rows)

    def partitions(self) -> list[tuple[str, str]]:
        """Return every partition with its table, table by table."""
        return sorted(self._parts)

    def rows(self, table: str, partition: str, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield the rows of a partition, those of one task in the order that it read them. Raises OSError."""
        self._file.flush()
        for _, _, start, size in sorted(self._parts[table, partition]):
            message = os.pread(self._file.fileno(), size, start)
            yield pa.Table.from_batches([pa.ipc.read_record_batch(pa.py_buffer(message), schema)], schema)
