"""Files that a replacement and resolved marks write: by the workers' writer, before the commit is sent."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.io.pyarrow import PyArrowFileIO, schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from floe.commit.table_commit import commit_table
from floe.control.table_work import TableWork
from floe.model.offsets import Intervals
from floe.parquet.table_writer import TableWriter
from floe.tables.exceptions import FilesNotWritten, TableNotCommitted
from tests.support.tables.lake import TABLE, TOPIC, Lake
from tests.support.tables.slices import make_announcement, make_plan, make_share
from tests.support.tables.wire import Wire

META = {
    "transforms": "meta",
    "transforms.meta.type": "org.apache.iceberg.connect.transforms.KafkaMetadataTransform",
    "transforms.meta.field_name": "k",
}
KAFKA_COLUMNS = Schema(
    NestedField(1, "name", StringType(), required=False),
    NestedField(2, "k_topic", StringType(), required=False),
    NestedField(3, "k_partition", LongType(), required=False),
    NestedField(4, "k_offset", LongType(), required=False),
)
BELOW_SURROGATES = "a" * 15 + "\ud7ff" + "bbb"
"""Cut to 16 characters and raised by one, its last would be half of a surrogate pair."""


@pytest.fixture
def message(lake: Lake) -> Lake:
    """A lake with a table of ten rows in one file, as workers write it."""
    table = lake.create(schema=KAFKA_COLUMNS)
    rows = [{"name": BELOW_SURROGATES, "k_topic": TOPIC, "k_partition": 0, "k_offset": offset} for offset in range(10)]
    writer = TableWriter(table.metadata, table.io, table.schema(), table.spec(), table.properties, "test")
    writer.write(pa.Table.from_pylist(rows, schema=schema_to_pyarrow(table.schema())))
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for file in writer.close():
            append.append_data_file(file)
    return lake


def replace_rows(lake: Lake, catalog: Catalog | None = None, timeout_s: float = 0.3) -> None:
    """Commit a replacement that takes the offsets 3 to 7 out and brings no rows."""
    plan = make_plan((0, 3, 8), kind="replace")
    (one,) = plan.slices[0].ranges
    table = lake.load()
    table_files = make_share(table, [(one, Intervals.of([(3, 8)]))], ())
    commit_table(
        lake.opened(catalog, **META), TableWork.of(plan, make_announcement(plan, table_files), table_files), timeout_s
    )


def fail(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Let no data file be created any more."""
    created = PyArrowFileIO.new_output

    def new_output(self: PyArrowFileIO, location: str) -> Any:
        if "/data/" in location:
            raise error
        return created(self, location)

    monkeypatch.setattr(PyArrowFileIO, "new_output", new_output)


def test_replace_keeps_text_below_the_surrogates(message: Lake) -> None:
    replace_rows(message)
    left = message.load(TABLE).scan().to_arrow().to_pylist()
    assert sorted(row["k_offset"] for row in left) == [0, 1, 2, 8, 9]
    assert {row["name"] for row in left} == {BELOW_SURROGATES}


def test_replace_with_unwritable_rows_fails_at_once(message: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = message.catalog()
    wire = Wire(catalog)
    fail(monkeypatch, ValueError("a value that no file takes"))
    with pytest.raises(FilesNotWritten, match=r"'rpc.pizzas' cannot be read or rewritten .*no file takes.*Nothing was"):
        replace_rows(message, catalog, timeout_s=60)
    assert wire.sent == 0


def test_replace_without_its_store_is_no_unknown_outcome(message: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = message.catalog()
    wire = Wire(catalog)
    fail(monkeypatch, OSError("the store is away"))
    with pytest.raises(TableNotCommitted, match=r"the store is away\)\. Nothing was sent to the catalog"):
        replace_rows(message, catalog)
    assert wire.sent == 0


BROKEN = {
    "empty": lambda raw: b"",
    "cut": lambda raw: raw[: len(raw) // 2],
    "junk": lambda raw: b"PAR1" + b"x" * len(raw) + b"PAR1",
    "footer": lambda raw: raw[:-20] + b"\xff" * 12 + raw[-8:],
    "pages": lambda raw: raw[:4] + b"\xff" * 60 + raw[64:],
}


@pytest.mark.parametrize("how", BROKEN)
def test_replace_over_a_broken_file_names_the_file(message: Lake, how: str) -> None:
    (task,) = message.load().scan().plan_files()
    path = Path(task.file.file_path.removeprefix("file://"))
    path.write_bytes(BROKEN[how](path.read_bytes()))
    before = message.load().metadata
    with pytest.raises((FilesNotWritten, TableNotCommitted), match=re.escape(f", in {task.file.file_path}). Nothing")):
        replace_rows(message)
    assert message.load().metadata == before
