"""The files of one table in a task: how much they hold while they are open."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.io import load_file_io
from pyiceberg.transforms import IdentityTransform

from floe.parquet.budget import WriteBudget
from floe_job.contract.task import TableTarget
from floe_job.write.task_files import STREAM_BYTES, TargetFiles
from tests.support.tables.parquet_tables import SCHEMA, TableFactory, rows, spec


@pytest.mark.parametrize(("given", "at_most"), [({}, 100 * STREAM_BYTES), ({"buffer-size": "4096"}, 100 * 8192)])
def test_a_hundred_open_files_hold_little(new_table: TableFactory, given: dict[str, str], at_most: int) -> None:
    table = new_table(SCHEMA, spec((1, IdentityTransform(), "id")))
    io = load_file_io({**table.io.properties, **given}, table.metadata.location)
    budget = WriteBudget(buffer_bytes=0)
    files = TargetFiles(TableTarget("ns.t", table.metadata, io, dict(table.properties)), 0, budget)
    before = pa.total_allocated_bytes()
    files.write(rows(table, id=list(range(100)), name=["x"] * 100))
    assert budget.open_files == 100
    assert pa.total_allocated_bytes() - before < at_most + 100 * 40_000
    _, count = files.close()
    assert count == 100
