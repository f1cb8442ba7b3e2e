"""Data files: field ids, metrics, partitions, sizes; and the private names of PyIceberg that they lean on."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
import pyiceberg.io.pyarrow as pyiceberg_arrow
import pytest
from pyiceberg.conversions import from_bytes
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionKey, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    VoidTransform,
    YearTransform,
)
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from floe_job.decode.arrays import storage_type
from floe_job.exceptions import UnsupportedFileFormat
from floe_job.parquet import TableWriter
from tests.unit.job.conftest import TableFactory

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "name", StringType(), required=False),
)


def writer(table: Table, **options: Any) -> TableWriter:
    return TableWriter(
        table.metadata, table.io, table.schema(), table.spec(), table.properties, name_hint="7", **options
    )


def rows(table: Table, **columns: list[Any]) -> pa.Table:
    schema = schema_to_pyarrow(table.schema())
    arrays = []
    for field, values in zip(schema, columns.values(), strict=True):
        array = pa.array(values, storage_type(field.type))
        is_extension = isinstance(field.type, pa.BaseExtensionType)
        arrays.append(pa.ExtensionArray.from_storage(field.type, array) if is_extension else array)
    return pa.Table.from_arrays(arrays, schema=schema)


def write(table: Table, *batches: pa.Table, **options: Any) -> list[DataFile]:
    writing = writer(table, **options)
    for batch in batches:
        writing.write(batch)
    return writing.close()


def commit(table: Table, files: list[DataFile]) -> pa.Table:
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for file in files:
            append.append_data_file(file)
    return table.scan().to_arrow()


def local(path: str) -> Path:
    return Path(unquote(urlparse(path).path))


def spec(*fields: tuple[int, Transform[Any, Any], str]) -> PartitionSpec:
    return PartitionSpec(*(PartitionField(source, 1000 + i, how, name) for i, (source, how, name) in enumerate(fields)))


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


def test_properties_set_metrics_compression_and_location(new_table: TableFactory, tmp_path: Path) -> None:
    table = new_table(
        SCHEMA,
        properties={
            "write.metadata.metrics.default": "none",
            "write.metadata.metrics.column.id": "counts",
            "write.parquet.compression-codec": "gzip",
            "write.data.path": (tmp_path / "elsewhere").as_uri(),
            "write.parquet.row-group-size-bytes": "1000000",
            "write.parquet.bloom-filter-enabled.column.id": "true",
        },
    )
    (file,) = write(table, rows(table, id=[1], name=["x"]))
    assert file.file_path.startswith((tmp_path / "elsewhere").as_uri())
    assert file.value_counts == {1: 1}
    assert not file.lower_bounds
    assert pq.read_metadata(local(file.file_path)).row_group(0).column(0).compression == "GZIP"


def test_small_batches_share_a_row_group(new_table: TableFactory) -> None:
    table = new_table(SCHEMA)
    batch = rows(table, id=list(range(1000)), name=["x"] * 1000)
    (file,) = write(table, *[batch] * 50)
    metadata = pq.read_metadata(local(file.file_path))
    assert (metadata.num_row_groups, metadata.num_rows) == (1, 50_000)


def test_row_groups_and_memory_are_bounded(new_table: TableFactory) -> None:
    table = new_table(SCHEMA, properties={"write.parquet.row-group-limit": "700"})
    batch = rows(table, id=list(range(1000)), name=["x"] * 1000)
    (file,) = write(table, batch, batch)
    metadata = pq.read_metadata(local(file.file_path))
    assert max(metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)) <= 700
    assert len(file.split_offsets or []) == metadata.num_row_groups
    (buffered,) = write(new_table(SCHEMA), *[batch] * 10, buffer_bytes=30_000)
    assert pq.read_metadata(local(buffered.file_path)).num_row_groups > 3


def test_a_file_is_rolled_at_the_target_size(new_table: TableFactory) -> None:
    table = new_table(SCHEMA, properties={"write.target-file-size-bytes": "10000"})
    batch = rows(table, id=list(range(1000)), name=[uuid.UUID(int=n * 7919).hex for n in range(1000)])
    files = write(table, *[batch] * 10, buffer_bytes=10_000)
    assert len(files) > 3
    assert [file.file_path[-13:] for file in files[:2]] == ["00001.parquet", "00002.parquet"]
    assert commit(table, files).num_rows == 10_000


def test_rows_are_split_by_partition_in_their_order(new_table: TableFactory) -> None:
    table = new_table(SCHEMA, spec((2, IdentityTransform(), "name"), (1, BucketTransform(2), "bucket")))
    names = ["b", None, "a/ ü", "b", None, "b"]
    files = write(table, rows(table, id=[34, 34, 34, 34, 34, 34], name=names), rows(table, id=[34], name=["b"]))
    assert sorted((tuple(file.partition[i] for i in range(2)) for file in files), key=str) == sorted(
        [("b", 1), (None, 1), ("a/ ü", 1)], key=str
    )
    assert sorted(file.file_path.split("/data/")[1].rsplit("/", 1)[0] for file in files) == [
        "name=a%2F+%C3%BC/bucket=1",
        "name=b/bucket=1",
        "name=null/bucket=1",
    ]
    assert {file.record_count for file in files} == {1, 2, 4}
    assert sorted(commit(table, files)["name"].to_pylist(), key=str) == sorted([*names, "b"], key=str)


def test_two_transforms_of_one_column_are_a_partition_spec_like_any_other(new_table: TableFactory) -> None:
    at = Schema(NestedField(1, "at", TimestamptzType(), required=False))
    table = new_table(at, spec((1, DayTransform(), "at_day"), (1, HourTransform(), "at_hour")))
    (file,) = write(table, rows(table, at=[datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)]))
    assert "/data/at_day=2024-01-02/at_hour=2024-01-02-03/" in file.file_path
    assert file.partition == Record(19724, 473379)


def test_a_partition_may_stand_inside_a_struct(new_table: TableFactory) -> None:
    inner = StructType(NestedField(3, "a.b", StringType(), required=False))
    table = new_table(Schema(NestedField(1, "s", inner, required=False)), spec((3, IdentityTransform(), "p")))
    files = write(table, rows(table, s=[{"a.b": "x"}, None, {"a.b": None}, {"a.b": "y"}]))
    assert {file.partition[0]: file.record_count for file in files} == {"x": 1, None: 2, "y": 1}


hour = HourTransform()
PARTITIONED: list[tuple[IcebergType, list[Any], list[Transform[Any, Any]]]] = [
    (BooleanType(), [True, False, None], []),
    (IntegerType(), [34, -1, 2**31 - 1, None], [BucketTransform(16), TruncateTransform(10)]),
    (LongType(), [34, -1, 2**63 - 1, None], [BucketTransform(16), TruncateTransform(10)]),
    (FloatType(), [1.5, None], []),
    (DoubleType(), [1.5, None], []),
    (StringType(), ["iceberg", "é", "", None], [BucketTransform(16), TruncateTransform(3)]),
    (BinaryType(), [b"abcd", b"", None], [BucketTransform(16), TruncateTransform(3)]),
    (FixedType(4), [b"abcd", None], [BucketTransform(16)]),
    (DecimalType(9, 2), [Decimal("14.20"), Decimal("-1.05"), None], [BucketTransform(16), TruncateTransform(50)]),
    (DateType(), [17486, -1, None], [BucketTransform(16), YearTransform(), MonthTransform(), DayTransform()]),
    (TimeType(), [81_068_000_000, None], [BucketTransform(16)]),
    *(
        (
            of,
            [1510871468000000, -1, None],
            [BucketTransform(16), YearTransform(), MonthTransform(), DayTransform(), hour],
        )
        for of in (TimestampType(), TimestamptzType())
    ),
    (UUIDType(), [uuid.UUID(int=5).bytes, None], [BucketTransform(16)]),
]


@pytest.mark.parametrize(
    ("of", "values", "transform"),
    [(of, values, how) for of, values, hows in PARTITIONED for how in [IdentityTransform(), VoidTransform(), *hows]],
    ids=str,
)
def test_every_transform_agrees_with_pyicebergs_own(
    new_table: TableFactory, of: IcebergType, values: list[Any], transform: Transform[Any, Any]
) -> None:
    table = new_table(Schema(NestedField(1, "v", of, required=False)), spec((1, transform, "p")))
    files = write(table, rows(table, v=values * 2))
    expected = {repr(transform.transform(of)(value)) for value in values}
    assert {repr(file.partition[0]) for file in files} == expected
    assert sum(file.record_count for file in files) == 2 * len(values)
    assert commit(table, files).num_rows == 2 * len(values)


def test_open_files_are_bounded_and_the_least_recently_written_is_finished_first(new_table: TableFactory) -> None:
    table = new_table(SCHEMA, spec((1, IdentityTransform(), "id")))
    batch = rows(table, id=list(range(20)), name=["x"] * 20)
    writing = writer(table, max_open=3, buffer_bytes=1)
    for _ in range(2):
        writing.write(batch)
        assert len(writing._open) <= 3
    files = writing.close()
    assert len(files) == 40
    assert [file.partition[0] for file in files[:3]] == [0, 1, 2]
    assert commit(table, files).num_rows == 40


def test_waiting_rows_of_many_partitions_stay_bounded(new_table: TableFactory) -> None:
    table = new_table(SCHEMA, spec((1, IdentityTransform(), "id")))
    writing = writer(table, buffer_bytes=5000)
    for _ in range(5):
        writing.write(rows(table, id=list(range(300)), name=["x" * 10] * 300))
        assert sum(group.bytes for group in writing._waiting.values()) == writing._waiting_bytes <= 5000
    assert commit(table, writing.close()).num_rows == 1500


def test_names_that_avro_does_not_take_are_written_as_java_writes_them(new_table: TableFactory) -> None:
    strange = Schema(
        NestedField(1, "a.b", LongType(), required=False),
        NestedField(2, "l", ListType(3, StructType(NestedField(4, "x y", LongType(), required=False))), required=False),
        NestedField(5, "m", MapType(6, StringType(), 7, StructType(NestedField(8, "1", LongType()))), required=False),
    )
    table = new_table(strange)
    batch = rows(table, a=[1, 2], l=[[{"x y": 5}], None], m=[None, [("k", {"1": 7})]])
    (file,) = write(table, batch)
    assert pq.read_schema(local(file.file_path)).names == ["a_x2Eb", "l", "m"]
    assert file.value_counts[1] == 2
    assert [list(row.values()) for row in pq.read_table(local(file.file_path)).to_pylist()] == [
        [1, [{"x_x20y": 5}], None],
        [2, None, [("k", {"_1": 7})]],
    ]
    assert commit(table, [file])["a.b"].to_pylist() == [1, 2]


def test_rows_of_another_schema_are_refused(new_table: TableFactory) -> None:
    with pytest.raises(ValueError, match="rows do not have the table's schema"):
        writer(new_table(SCHEMA)).write(pa.table({"id": [1]}))


def test_other_formats_are_refused_by_name(new_table: TableFactory) -> None:
    with pytest.raises(UnsupportedFileFormat, match="'orc'"):
        writer(new_table(SCHEMA, properties={"write.format.default": "orc"}))
    writer(new_table(SCHEMA, properties={"write.format.default": "Parquet"}))


def test_abort_lets_go_of_every_file_and_deletes_none(new_table: TableFactory, tmp_path: Path) -> None:
    table = new_table(SCHEMA, spec((1, IdentityTransform(), "id")))
    writing = writer(table, buffer_bytes=1)
    writing.write(rows(table, id=[1, 2], name=["x", "y"]))
    streams = [file._stream for file in writing._open.values()]
    assert len(streams) == 2
    writing.abort()
    assert all(stream.closed for stream in streams)
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


def test_a_partition_key_of_pyiceberg_still_reads_its_record_from_an_attribute() -> None:
    assert PartitionKey([], spec(), SCHEMA).partition == Record()
