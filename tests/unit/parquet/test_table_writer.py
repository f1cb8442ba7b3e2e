"""Data files: names, field ids, metrics; and the private names of PyIceberg that they lean on."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyiceberg.io.pyarrow as pyiceberg_arrow
import pytest
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionKey
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DateType, ListType, LongType, MapType, NestedField, StringType, StructType, TimestampType

from floe.parquet.budget import WriteBudget
from floe.parquet.exceptions import UnsupportedFileFormat
from floe.parquet.table_writer import TableWriter
from tests.support.tables.parquet_tables import SCHEMA, TableFactory, commit, local, rows, spec, write, writer


def test_a_file_carries_field_ids_metrics_and_a_name_of_its_own(new_table: TableFactory) -> None:
    table = new_table(SCHEMA)
    (file,) = write(table, rows(table, id=[3, None, 1], name=["b", "a" * 40, None]))
    assert re.fullmatch(r".*/data/00000-7-[0-9a-f-]{36}-00001\.parquet", file.file_path)
    assert (file.content, file.file_format, file.record_count) == (DataFileContent.DATA, FileFormat.PARQUET, 3)
    assert file.file_size_in_bytes == local(file.file_path).stat().st_size
    assert file.partition == Record()
    assert file.sort_order_id is None
    assert file.split_offsets == [4]
    assert file.value_counts == {1: 3, 2: 3}
    assert file.null_value_counts == {1: 1, 2: 1}
    assert from_bytes(LongType(), file.lower_bounds[1]) == 1
    assert from_bytes(LongType(), file.upper_bounds[1]) == 3
    assert file.lower_bounds[2] == b"a" * 16
    in_file = pq.read_schema(local(file.file_path))
    assert [field.metadata[b"PARQUET:field_id"] for field in in_file] == [b"1", b"2"]
    assert commit(table, [file]).num_rows == 3


def test_no_rows_are_no_file(new_table: TableFactory) -> None:
    table = new_table(SCHEMA)
    assert write(table, rows(table, id=[], name=[])) == []


def test_two_writers_of_one_task_never_share_a_name(new_table: TableFactory) -> None:
    table = new_table(SCHEMA)
    batch = rows(table, id=[1], name=["x"])
    assert write(table, batch)[0].file_path != write(table, batch)[0].file_path


def test_a_name_hint_cannot_leave_the_folder(new_table: TableFactory) -> None:
    table = new_table(SCHEMA)
    writing = TableWriter(table.metadata, table.io, table.schema(), table.spec(), table.properties, "../../x/1")
    writing.write(rows(table, id=[1], name=["x"]))
    assert "/data/00000-.._.._x_1-" in writing.close()[0].file_path


def test_small_batches_share_a_row_group(new_table: TableFactory) -> None:
    table = new_table(SCHEMA)
    batch = rows(table, id=list(range(1000)), name=["x"] * 1000)
    (file,) = write(table, *[batch] * 50)
    metadata = pq.read_metadata(local(file.file_path))
    assert (metadata.num_row_groups, metadata.num_rows) == (1, 50_000)


def test_names_refused_by_avro_are_written_like_java(new_table: TableFactory) -> None:
    unexpected = Schema(
        NestedField(1, "a.b", LongType(), required=False),
        NestedField(2, "l", ListType(3, StructType(NestedField(4, "x y", LongType(), required=False))), required=False),
        NestedField(5, "m", MapType(6, StringType(), 7, StructType(NestedField(8, "1", LongType()))), required=False),
    )
    table = new_table(unexpected)
    batch = rows(table, a=[1, 2], l=[[{"x y": 5}], None], m=[None, [("k", {"1": 7})]])
    (file,) = write(table, batch)
    assert pq.read_schema(local(file.file_path)).names == ["a_x2Eb", "l", "m"]
    assert file.value_counts[1] == 2
    assert [list(row.values()) for row in pq.read_table(local(file.file_path)).to_pylist()] == [
        [1, [{"x_x20y": 5}], None],
        [2, None, [("k", {"_1": 7})]],
    ]
    assert commit(table, [file])["a.b"].to_pylist() == [1, 2]


def test_required_columns_inside_required_structs_are_written(new_table: TableFactory) -> None:
    inner = StructType(NestedField(3, "zip", StringType(), required=True))
    schema = Schema(
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "home", inner, required=True),
        identifier_field_ids=[1, 3],
    )
    table = new_table(schema, spec((3, IdentityTransform(), "zip"), (1, IdentityTransform(), "id")))
    files = write(table, rows(table, id=[1, 2, 1], home=[{"zip": "a"}, {"zip": "b"}, {"zip": "a"}]))
    assert [file.record_count for file in files] == [2, 1]
    assert commit(table, files).num_rows == 3


def test_rows_of_another_schema_are_refused(new_table: TableFactory) -> None:
    with pytest.raises(ValueError, match="rows do not have the table's schema"):
        writer(new_table(SCHEMA)).write(pa.table({"id": [1]}))


def test_other_formats_are_refused_by_name(new_table: TableFactory) -> None:
    with pytest.raises(UnsupportedFileFormat, match="'orc'"):
        writer(new_table(SCHEMA, properties={"write.format.default": "orc"}))
    writer(new_table(SCHEMA, properties={"write.format.default": "Parquet"}))


def test_abort_lets_go_of_every_file_and_deletes_none(new_table: TableFactory, tmp_path: Path) -> None:
    table = new_table(SCHEMA, spec((1, IdentityTransform(), "id")))
    budget = WriteBudget(buffer_bytes=1)
    writing = writer(table, budget=budget)
    writing.write(rows(table, id=[1, 2], name=["x", "y"]))
    streams = [held._file._opened.stream for held in writing._partitions.values() if held._file is not None]
    assert len(streams) == 2
    writing.abort()
    assert all(stream.closed for stream in streams)
    assert (budget.open_files, budget.waiting_bytes) == (0, 0)
    assert len(list(tmp_path.rglob("*.parquet"))) == 2
    writing.abort()


def test_dates_of_all_years_taken_have_metrics(new_table: TableFactory) -> None:
    table = new_table(
        Schema(NestedField(1, "d", DateType(), required=False), NestedField(2, "t", TimestampType(), required=False))
    )
    (file,) = write(table, rows(table, d=[date.min, date.max], t=[-62135596800000000, 253402300799999999]))
    assert set(file.lower_bounds) == set(file.upper_bounds) == {1, 2}


@pytest.mark.parametrize(
    "name",
    [
        "_get_parquet_writer_kwargs",
        "compute_statistics_plan",
        "data_file_statistics_from_parquet_metadata",
        "parquet_path_to_id_mapping",
        "StatisticsCollector",
    ],
)
def test_pyiceberg_still_has_the_private_names_leaned_on(name: str) -> None:
    assert hasattr(pyiceberg_arrow, name)


def test_pyiceberg_partition_key_still_reads_an_attribute() -> None:
    assert PartitionKey([], spec(), SCHEMA).partition == Record()
