"""Rows that are read here and written there: the same rows, one file a partition, and nothing by halves."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyiceberg.io import load_file_io
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, IdentityTransform, TruncateTransform, VoidTransform
from pyiceberg.types import DateType, DoubleType, LongType, NestedField, StringType

from floe.parquet.budget import WriteBudget
from floe_job.contract.result import TaskResult
from floe_job.contract.task import TableTarget
from floe_job.shuffle.messages import (
    BUFFERED_BYTES,
    EndOfTask,
    PartitionRows,
    RowBlock,
    SendQueue,
    SpillFile,
    block_bytes,
)
from floe_job.shuffle.partition_sender import PartitionSender, is_spread, writing_tasks
from floe_job.task.read_task import SentRows
from floe_job.task.write_task import PartitionFiles
from floe_job.write.task_files import TargetFiles
from tests.support.tables.parquet_tables import TableFactory, rows, spec

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "name", StringType(), required=False),
    NestedField(3, "day", DateType(), required=False),
    NestedField(4, "size", DoubleType(), required=False),
)
SPECS = [
    spec((2, IdentityTransform(), "name")),
    spec((3, IdentityTransform(), "day"), (1, BucketTransform(4), "bucket")),
    spec((2, TruncateTransform(1), "letter"), (4, IdentityTransform(), "size")),
]
HASH = {"write.distribution-mode": "hash"}


def target_of(table: Table, name: str = "ns.t", **properties: str) -> TableTarget:
    io = load_file_io(dict(table.properties), table.location())
    return TableTarget(name, table.metadata, io, {**table.properties, **properties})


def batches(table: Table, seed: int, count: int = 4) -> list[pa.Table]:
    some = random.Random(seed)
    names = ["b", "é'\\\n", "", None, "naïve", "bb"]
    return [
        rows(
            table,
            id=[some.choice([None, some.randrange(-9, 9)]) for _ in range(200)],
            name=[some.choice(names) for _ in range(200)],
            day=[some.choice([None, 19_000, -1, 20_000]) for _ in range(200)],
            size=[some.choice([None, -0.5, 1.5]) for _ in range(200)],
        )
        for _ in range(count)
    ]


def send(
    targets: dict[str, Sequence[pa.Table]], known: Sequence[TableTarget], task: int, writers: int
) -> list[list[SentRows]]:
    """Have one task spool rows by table name; return what each of the writers gets."""
    send_queue, budget = SendQueue(task, writers), WriteBudget(buffer_bytes=4_000)
    sent: list[list[SentRows]] = [[] for _ in range(writers)]
    for target in known:
        sender = PartitionSender(target, send_queue, budget)
        for batch in targets.get(target.name, ()):
            sender.write(batch)
        assert sender.close() == (None, 0)
    for writer, block in send_queue.take():
        sent[writer].append(pickle.loads(pickle.dumps(block)))  # noqa: S301
    for writer in range(writers):
        sent[writer].append(EndOfTask(task, writer, True))
    return sent


def counted(tables: Sequence[pa.Table]) -> Counter[str]:
    return Counter(repr(row) for table in tables for row in table.to_pylist())


def contents(table: Table, results: Sequence[TaskResult], name: str = "ns.t") -> list[pa.Table]:
    """Return the rows of every file."""
    import pyarrow.parquet as pq

    found = [result.tables[name].files for result in results if name in result.tables]
    paths = [file.file_path for spec_files in found if spec_files is not None for file in spec_files.files]
    return [pq.ParquetFile(path.removeprefix("file://")).read() for path in paths]


@pytest.mark.parametrize("by", SPECS, ids=str)
@pytest.mark.parametrize("writers", [1, 3])
def test_shuffle_keeps_rows_in_one_file_per_partition(new_table: TableFactory, by: PartitionSpec, writers: int) -> None:
    table = new_table(SCHEMA, by)
    target = target_of(table)
    read = {task: batches(table, task) for task in range(3)}
    sent = [send({"ns.t": mine}, [target], task, writers) for task, mine in read.items()]
    files = PartitionFiles((target,), frozenset(read), writers)
    results = [
        result for writer in range(writers) for result in files.run(item for one in sent for item in one[writer])
    ]
    assert [result.failure for result in results] == [None] * writers
    assert [result.index for result in results] == [-1 - writer for writer in range(writers)]

    here = TargetFiles(target, 0)
    for batch in (batch for mine in read.values() for batch in mine):
        here.write(batch)
    as_one, count = here.close()
    assert as_one is not None
    assert sum(result.tables["ns.t"].counts.rows for result in results if result.tables) == count == 2400
    partitions = sorted(str(file.partition) for file in as_one.files)
    found = [result.tables["ns.t"].files for result in results if result.tables]
    assert sorted(str(file.partition) for one in found if one for file in one.files) == partitions
    assert len(set(partitions)) == len(partitions)
    assert counted(contents(table, results)) == counted([batch for mine in read.values() for batch in mine])


def test_rows_of_one_task_keep_order_within_a_partition(new_table: TableFactory) -> None:
    table = new_table(SCHEMA, SPECS[0])
    target = target_of(table)
    read = [rows(table, id=[2 * i, 2 * i + 1], name=["x", "y"], day=[None] * 2, size=[None] * 2) for i in range(500)]
    sent = send({"ns.t": read}, [target], 0, 1)[0]
    random.Random(5).shuffle(sent)
    (result,) = PartitionFiles((target,), frozenset({0}), 1).run(sent)
    for found in contents(table, [result]):
        assert found["id"].to_pylist() == sorted(found["id"].to_pylist())


def test_files_of_several_tables_are_told_apart(new_table: TableFactory) -> None:
    tables = [new_table(SCHEMA, SPECS[0]), new_table(SCHEMA, SPECS[1])]
    targets = tuple(target_of(table, f"ns.t{i}") for i, table in enumerate(tables))
    read = {target.name: batches(table, i) for i, (target, table) in enumerate(zip(targets, tables, strict=True))}
    (result,) = PartitionFiles(targets, frozenset({0}), 1).run(send(read, targets, 0, 1)[0])
    for table, target in zip(tables, targets, strict=True):
        assert counted(contents(table, [result], target.name)) == counted(read[target.name])


@pytest.mark.parametrize("missing", ["columns", "a seal"])
def test_nothing_is_written_unless_every_task_sent_all_it_has(new_table: TableFactory, missing: str) -> None:
    table = new_table(SCHEMA, SPECS[0])
    target = target_of(table)
    sent = send({"ns.t": batches(table, 0)}, [target], 0, 1)[0] + (
        [EndOfTask(1, 0, False)] if missing == "columns" else []
    )
    results = list(PartitionFiles((target,), frozenset({0, 1}), 1).run(sent))
    failures = [result.failure.message for result in results if result.failure]
    assert [result.tables for result in results if result.tables] == []
    assert failures == [
        "what tasks [1] read did not come through Spark's shuffle whole. Nothing was announced. Run again"
    ] * (missing == "a seal")


def test_results_of_tasks_that_read_come_along(new_table: TableFactory) -> None:
    target = target_of(new_table(SCHEMA, SPECS[0]))
    results = list(PartitionFiles((target,), frozenset({4}), 1).run([TaskResult(4), EndOfTask(4, 0, True)]))
    assert results == [TaskResult(4), TaskResult(-1)]


def test_a_file_that_cannot_be_written_comes_back_as_a_failure(new_table: TableFactory) -> None:
    table = new_table(SCHEMA, SPECS[0])
    target = target_of(table, **{"write.parquet.compression-codec": "lzo"})
    sent = send({"ns.t": batches(table, 0)}, [target], 0, 1)[0]
    (result,) = PartitionFiles((target,), frozenset({0}), 1).run(sent)
    assert result.failure is not None
    assert "lzo" in result.failure.message
    assert not result.failure.retryable


def test_a_full_local_disk_comes_back_as_a_failure(new_table: TableFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(SpillFile, "add", full)
    target = target_of(new_table(SCHEMA, SPECS[0]))
    sent = [RowBlock("ns.t", 0, 0, (PartitionRows("('x',)", b"rows"),)), EndOfTask(0, 0, True)]
    (result,) = PartitionFiles((target,), frozenset({0}), 1).run(sent)
    assert result.failure is not None
    assert "No space left on device" in result.failure.message
    assert result.failure.retryable


# -- where rows go ----------------------------------------------------------------------------------------------------


def test_memory_of_what_was_sent_is_given_back(new_table: TableFactory) -> None:
    target = target_of(new_table(SCHEMA, SPECS[0]), **HASH)
    numbers = pa.array(range(100_000))
    process = psutil.Process()
    before = process.memory_info().rss

    def sent() -> Iterator[SentRows]:
        received = [pc.add(numbers, i) for i in range(250)]
        assert process.memory_info().rss - before > 150_000_000
        del received
        yield EndOfTask(0, 0, True)

    assert [result.failure for result in PartitionFiles((target,), frozenset({0}), 1).run(sent())] == [None]
    assert process.memory_info().rss - before < 20_000_000


def test_partition_goes_to_same_task_in_every_interpreter() -> None:
    send_queue = SendQueue(0, 1000)
    asked = [send_queue.writer_of("ns.t", repr(values)) for values in [(None,), (19_000, "é"), (float("nan"), b"\x00")]]
    assert asked == [13, 724, 84]


def test_partitions_are_spread_over_all_tasks() -> None:
    send_queue = SendQueue(0, 4)
    found = Counter(send_queue.writer_of("ns.t", repr((day,))) for day in range(20_000, 21_000))
    assert min(found.values()) > 200
    assert len(found) == 4


def test_parcels_are_bounded_by_rows_memory_and_gathering(new_table: TableFactory) -> None:
    assert block_bytes(1) == BUFFERED_BYTES // 10
    assert block_bytes(500) == BUFFERED_BYTES // 1000
    table = new_table(SCHEMA, SPECS[0])
    send_queue = SendQueue(0, 64)
    sender = PartitionSender(target_of(table), send_queue, WriteBudget())
    for batch in batches(table, 0, count=400):
        sender.write(batch)
    sender.close()
    sizes = [sum(len(part.rows) for part in block.parts) for _, block in send_queue.take()]
    assert len(sizes) > 12
    assert max(sizes) < 2 * block_bytes(64)


def test_what_waits_is_dropped_and_no_longer_counted(new_table: TableFactory) -> None:
    table = new_table(SCHEMA, SPECS[0])
    send_queue, budget = SendQueue(0, 2), WriteBudget()
    sender = PartitionSender(target_of(table), send_queue, budget)
    sender.write(batches(table, 0)[0])
    assert budget.waiting_bytes > 0
    sender.abort()
    assert budget.waiting_bytes == 0
    sender.close()
    assert list(send_queue.take()) == []


# -- which tables -----------------------------------------------------------------------------------------------------


def test_only_partitioned_tables_that_request_it_are_spread(new_table: TableFactory) -> None:
    parted = new_table(SCHEMA, SPECS[0])
    assert is_spread(target_of(parted, **HASH))
    assert is_spread(target_of(parted, **{"write.distribution-mode": " Range"}))
    assert not is_spread(target_of(parted))
    assert not is_spread(target_of(parted, **{"write.distribution-mode": "none"}))
    assert not is_spread(target_of(new_table(SCHEMA), **HASH))
    assert not is_spread(target_of(new_table(SCHEMA, spec((2, VoidTransform(), "name"))), **HASH))
    assert not is_spread(replace(target_of(parted, **HASH), metadata=None))


def test_a_task_that_reads_alone_writes_alone(new_table: TableFactory) -> None:
    target = target_of(new_table(SCHEMA, SPECS[0]), **HASH)
    assert writing_tasks([target], reading=1, most=8) == 0
    assert writing_tasks([target], reading=2, most=8) == 8
    assert writing_tasks([replace(target, properties={})], reading=2, most=8) == 0


@pytest.mark.parametrize(("mode", "meaning"), [("range", "hash"), ("sorted", "none")])
def test_other_modes_of_a_table_are_warned_of(
    new_table: TableFactory, caplog: pytest.LogCaptureFixture, mode: str, meaning: str
) -> None:
    writing_tasks([target_of(new_table(SCHEMA, SPECS[0]), **{"write.distribution-mode": mode})], reading=2, most=8)
    assert caplog.messages == [
        f"table ns.t: write.distribution-mode={mode!r} is taken as {meaning}; set it to none or hash"
    ]
