"""What tasks that read send to tasks that write: rows by partition, and an end marker once all were sent.

Results are sent the same way. Spark keeps the output of one attempt of each task that reads, all of it or none, so a
task that ran twice sends neither rows nor its result twice.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

BUFFERED_BYTES = 64 * 1024 * 1024
"""Bytes of row blocks that Spark's Python worker gathers before it sends them."""
MAX_BLOCK_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class Part:
    """Rows of one partition of a table, as one encapsulated Arrow IPC message without the schema."""

    partition: str
    rows: bytes = field(repr=False)


@dataclass(frozen=True)
class RowBlock:
    """Parts of one table. ``task`` read them, and this is its ``number``-th block."""

    table: str
    task: int
    number: int
    parts: tuple[Part, ...]


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

    def put(self, writer: int, table: str, parts: tuple[Part, ...]) -> None:
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
