"""Rows by partition: every transform, nested columns, and specs as odd as Iceberg allows."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    Transform,
    VoidTransform,
)
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    DoubleType,
    FloatType,
    IcebergType,
    ListType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)

from floe.parquet.exceptions import UnsupportedColumn
from floe.parquet.partitions import Partitioner
from tests.support.tables.parquet_tables import SCHEMA, TRANSFORMED, TableFactory, commit, rows, spec, write


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


def test_two_transforms_of_one_column_are_a_normal_spec(new_table: TableFactory) -> None:
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


@pytest.mark.parametrize(
    ("of", "values", "transform"),
    [(of, values, how) for of, values, hows in TRANSFORMED for how in [IdentityTransform(), VoidTransform(), *hows]],
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


def test_parts_are_copies_that_do_not_keep_the_batch_alive(new_table: TableFactory) -> None:
    table = new_table(SCHEMA, spec((1, IdentityTransform(), "id")))
    before = pa.total_allocated_bytes()
    batch = rows(table, id=[0] + [1] * 100_000, name=["x" * 50] * 100_001)
    (_, small), _ = Partitioner(table.spec(), table.schema()).split(batch)
    del _, batch
    assert small.num_rows == 1
    assert pa.total_allocated_bytes() - before < 10_000


@pytest.mark.parametrize("value", ["x" * 300, "\U0001f600" * 100, "%" * 52, "a/" * 80], ids=lambda value: value[:2])
def test_a_long_value_has_a_short_path_and_stays_whole(new_table: TableFactory, value: str) -> None:
    table = new_table(SCHEMA, spec((2, IdentityTransform(), "name")))
    other = value + "y"
    files = write(table, rows(table, id=[1, 2], name=[value, other]))
    folders = [file.file_path.split("/data/")[1].split("/") for file in files]
    assert all(len(parts) == 2 and len(parts[0]) <= 150 and parts[0].startswith("name=") for parts in folders)
    assert folders[0][0] != folders[1][0]
    assert not re.search("%(?![0-9A-F]{2})", folders[0][0])
    assert [file.partition[0] for file in files] == [value, other]
    assert sorted(commit(table, files)["name"].to_pylist()) == sorted([value, other])


def test_long_binary_values_and_field_names_have_short_paths(new_table: TableFactory) -> None:
    binary = Schema(NestedField(1, "v", BinaryType(), required=False))
    table = new_table(binary, spec((1, IdentityTransform(), "p" * 200)))
    (file,) = write(table, rows(table, v=[b"\xff" * 300]))
    assert max(map(len, file.file_path.split("/"))) <= 150
    assert file.partition[0] == b"\xff" * 300


def test_many_long_values_have_a_short_path_together(new_table: TableFactory) -> None:
    fields = [NestedField(i, f"v{i}", StringType(), required=False) for i in range(1, 13)]
    table = new_table(Schema(*fields), spec(*((i, IdentityTransform(), f"v{i}") for i in range(1, 13))))
    files = write(table, rows(table, **{f"v{i}": ["x" * 140, "x" * 140 + "y" * (i == 12)] for i in range(1, 13)}))
    assert len({file.file_path.rsplit("/", 1)[0] for file in files}) == 2
    assert all(len(file.file_path.split("/data/")[1]) < 300 for file in files)
    assert commit(table, files).num_rows == 2


@pytest.mark.parametrize("source", [99, 3])
def test_field_of_column_missing_in_rows_is_refused_by_name(source: int) -> None:
    listed = Schema(NestedField(1, "l", ListType(3, StringType(), element_required=False), required=False))
    with pytest.raises(UnsupportedColumn, match=rf"partition field 'p' is of column {source}.*Replace the field"):
        Partitioner(spec((source, IdentityTransform(), "p")), listed)


@pytest.mark.parametrize("of", [FloatType(), DoubleType()])
def test_zeros_of_either_sign_are_one_partition(new_table: TableFactory, of: IcebergType) -> None:
    schema = Schema(NestedField(1, "d", of, required=False))
    table = new_table(schema, spec((1, IdentityTransform(), "d")))
    files = write(table, rows(table, d=[-0.0, 0.0, 1.5]), rows(table, d=[0.0, -0.0]))
    assert sorted((str(file.partition[0]), file.record_count) for file in files) == [("0.0", 4), ("1.5", 1)]
    assert sorted(map(str, commit(table, files)["d"].to_pylist())) == ["-0.0", "-0.0", "0.0", "0.0", "1.5"]
