"""What a job's workers do with given records, in this process: a task's rounds, without Kafka and without Spark.

Reading is replaced by a fake, as it costs the same for all records of a size. Tables and files are real (SQLite). As in a
run, a task that finds columns missing runs again once the table has them. Records that cannot become rows become dead
letters, and the dead-letter table is written, too.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from bench.hostile.records import HostileShape
from floe.config.sections.error_policy import ErrorPolicy
from floe.config.sections.routing import Routing
from floe.config.sections.tables import TableSettings
from floe.model.offsets import OffsetRange
from floe.tables.dead_letter_schema import DEAD_LETTERS_SCHEMA
from floe_job.contract.result import TaskResult
from floe_job.contract.task import DeadLetterRules, RouteRules, TableTarget, Task
from floe_job.convert import context
from floe_job.schema.proposal import ColumnRules
from floe_job.source.messages import HeaderKinds, Headers, Messages, last_of
from floe_job.source.range_reader import RangeReader
from floe_job.source.record_batch import RangePart
from floe_job.source.values import Values
from floe_job.task.read_task import run_task

FRAME = b"\x14\x00\x00"
"""The bytes before a value in a batch of Kafka's."""

BATCH_RECORDS = 50_000
MAX_ROUNDS = 4
NAMESPACE = "hostile"


@dataclass(frozen=True)
class Rounds:
    """What the rounds took in CPU seconds of this process, and what became of the records."""

    cpu_seconds: float
    rows: int
    dead: int
    unknown_tables: int


@dataclass
class TaskRounds:
    """Runs tasks into new tables of a catalog."""

    _catalog: SqlCatalog
    _count: int = 0

    @classmethod
    def open(cls, folder: Path) -> TaskRounds:
        """Make the folder and the catalog."""
        folder.mkdir(parents=True)
        catalog = SqlCatalog("bench", uri=f"sqlite:///{folder}/c.db", warehouse=folder.as_uri())
        catalog.create_namespace(NAMESPACE)
        return cls(catalog)

    def run(self, shape: HostileShape, values: Sequence[bytes]) -> Rounds:
        """Read, decode and write records until no column is missing."""
        self._count += 1
        name = f"{NAMESPACE}.t{self._count}"
        table = self._catalog.create_table(name, shape.schema)
        dead_letters = self._catalog.create_table(f"{NAMESPACE}.dead_{self._count}", DEAD_LETTERS_SCHEMA)
        rules = ColumnRules(evolve=True, case_insensitive=shape.case_insensitive)
        with _given(values), _registry(shape):
            began = time.process_time()
            for _ in range(MAX_ROUNDS):
                result = run_task(_task(shape, len(values), name, table, dead_letters, rules))
                if result.failure is not None:
                    raise AssertionError(result.failure)
                if result.is_complete or result.unknown:
                    return _rounds(time.process_time() - began, result)
                needs = result.tables[name].needs
                if needs is None:
                    raise AssertionError(result)
                with table.update_schema() as update:
                    needs.apply(update)
                table = self._catalog.load_table(name)
        raise AssertionError(shape.name)


def _task(shape: HostileShape, records: int, name: str, table: Table, dead_letters: Table, rules: ColumnRules) -> Task:
    policy = ErrorPolicy(
        tolerate=True,
        log=False,
        log_messages=False,
        table=f"{NAMESPACE}.dead",
        topic=None,
        topic_replication=1,
        context_headers=False,
        max_ratio=1.0,
    )
    range_parts = (RangePart(OffsetRange("hostile", "T1", 0, 0, records), 0, records),)
    kept = DeadLetterRules(policy, "bench", "bench", _target(dead_letters.name()[-1], dead_letters, ColumnRules()))
    if shape.routing is not None:
        return Task(0, range_parts, (), RouteRules(shape.routing, ()), kept, {}, TableTarget("", rules=rules))
    static = RouteRules(Routing(), ((name, TableSettings()),), value_converter=shape.converter)
    return Task(0, range_parts, (_target(name, table, rules),), static, kept, {})


def _target(name: str, table: Table, rules: ColumnRules) -> TableTarget:
    return TableTarget(name, table.metadata, table.io, table.properties, rules=rules)


def _rounds(seconds: float, result: TaskResult) -> Rounds:
    rows = sum(table.counts.rows for table in result.tables.values())
    return Rounds(seconds, rows, result.dead_letters.dead, len(result.unknown))


def _given(values: Sequence[bytes]) -> AbstractContextManager[object]:
    """Make tasks read these values."""
    batches = [_Batch(first, values[first : first + BATCH_RECORDS]) for first in range(0, len(values), BATCH_RECORDS)]
    return mock.patch.object(RangeReader, "open", lambda *_: _Reader(batches))


def _registry(shape: HostileShape) -> AbstractContextManager[object]:
    """Make workers have a registry of the schemas of a shape."""
    registry = mock.Mock(schema=shape.schema_of)
    return mock.patch.object(context, "_registries", lambda: mock.Mock(of_run=lambda *_: registry))


class _Reader:
    def __init__(self, batches: Sequence[_Batch]) -> None:
        self._batches = batches

    def read(self, _: OffsetRange, _epoch: int | None = None) -> Iterator[_Batch]:
        return iter(self._batches)

    def close(self) -> None:
        """There is nothing to close."""


class _Batch:
    """Records in memory of their own, adjacent and with a frame before each, as a broker sends them."""

    def __init__(self, first: int, values: Sequence[bytes]) -> None:
        text = b"".join(FRAME + value for value in values)
        held: Any = ctypes.create_string_buffer(text, len(text) + 1)
        sizes = np.array([len(value) for value in values], np.int64)
        self.offsets = np.arange(first, first + len(values))
        self.values = Values((held,), ctypes.addressof(held) + np.cumsum(sizes + len(FRAME)) - sizes, sizes)
        self.messages = _Beside(self.offsets.tolist())
        self.nbytes = int(sizes.sum())


class _Beside(Messages):
    """Key, time and headers of each record."""

    def __init__(self, offsets: Sequence[int]) -> None:
        self._offsets = offsets

    def __len__(self) -> int:
        return len(self._offsets)

    def select(self, indices: Sequence[int] | slice) -> Messages:
        if isinstance(indices, slice):
            return _Beside(self._offsets[indices])
        return _Beside([self._offsets[i] for i in indices])

    def keys(self) -> list[bytes | None]:
        return [b"k%d" % offset for offset in self._offsets]

    def timestamps(self) -> list[int | None]:
        return [1_700_000_000_000 + offset for offset in self._offsets]

    def headers(self) -> list[Headers | None]:
        return [[("h", b"v")] for _ in self._offsets]

    def last_headers(self, names: Sequence[str]) -> HeaderKinds:
        return HeaderKinds([last_of([("h", b"v")], names)], np.zeros(len(self), np.int64))
