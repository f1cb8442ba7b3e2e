"""Row blocks on the local disk until all were received. Then rows can be read partition by partition."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

import pyarrow as pa

from floe_job.shuffle.messages import RowBlock

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
