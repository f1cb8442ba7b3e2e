"""Files in the sort order of their table."""

from __future__ import annotations

import logging
import math
import random
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, Transform, TruncateTransform
from pyiceberg.types import (
    DoubleType,
    FloatType,
    IcebergType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    UUIDType,
)

from floe.parquet.budget import WriteBudget
from floe.parquet.partitions import RowOrder
from tests.support.tables.parquet_tables import SCHEMA, TRANSFORMED, TableFactory, commit, local, rows, spec, write

ASC, DESC = SortDirection.ASC, SortDirection.DESC
FIRST, LAST = NullOrder.NULLS_FIRST, NullOrder.NULLS_LAST
Key = tuple[str, Transform[Any, Any], SortDirection, NullOrder]


def sorted_by(table: Table, *keys: Key) -> Table:
    """Give a table a sort order."""
    with table.update_sort_order() as update:
        for column, transform, direction, nulls in keys:
            (update.asc if direction is ASC else update.desc)(column, transform, nulls)
    return table


def columns(file: DataFile) -> dict[str, list[Any]]:
    """Read a file's columns as they lie in it."""
    read = pq.ParquetFile(local(file.file_path)).read()
    return {name: read[name].to_pylist() for name in read.column_names}


@pytest.mark.parametrize(
    ("direction", "nulls", "expected"),
    [
        (ASC, FIRST, [None, None, 1, 2, 3]),
        (ASC, LAST, [1, 2, 3, None, None]),
        (DESC, FIRST, [None, None, 3, 2, 1]),
        (DESC, LAST, [3, 2, 1, None, None]),
    ],
)
def test_rows_are_sorted_in_direction_with_nulls_in_place(
    new_table: TableFactory, direction: SortDirection, nulls: NullOrder, expected: list[int | None]
) -> None:
    table = sorted_by(new_table(SCHEMA), ("id", IdentityTransform(), direction, nulls))
    files = write(table, rows(table, id=[2, None, 3], name=["a", "b", "c"]), rows(table, id=[None, 1], name=["d", "e"]))
    assert columns(files[0])["id"] == expected
    assert files[0].sort_order_id == table.sort_order().order_id == 1
    assert commit(table, files)["id"].to_pylist() == expected
    (entry,) = table.inspect.files().to_pylist()
    assert entry["sort_order_id"] == 1


def test_several_sort_terms_apply_in_order_and_sort_is_stable(
    new_table: TableFactory,
) -> None:
    schema = Schema(
        NestedField(1, "n", LongType(), required=False),
        NestedField(2, "name", StringType(), required=False),
        NestedField(3, "at", TimestampType(), required=False),
    )
    day: Transform[Any, Any] = DayTransform()
    prefix: Transform[Any, Any] = TruncateTransform(1)
    bucket: Transform[Any, Any] = BucketTransform(4)
    keys: list[Key] = [("at", day, DESC, LAST), ("name", prefix, ASC, LAST), ("n", bucket, ASC, FIRST)]
    table = sorted_by(new_table(schema), *keys)
    chance = random.Random(7)
    names = [chance.choice(["ax", "ay", "b", "é", None]) for _ in range(500)]
    times = [chance.choice([None, *range(0, 4 * 86_400_000_000, 21_600_000_000)]) for _ in range(500)]
    (file,) = write(table, rows(table, n=list(range(500)), name=names, at=times))

    def key(n: int) -> tuple[Any, ...]:
        at, name = day.transform(TimestampType())(times[n]), prefix.transform(StringType())(names[n])
        return (at is None, -(at or 0)), (name is None, name or ""), bucket.transform(LongType())(n)

    assert columns(file)["n"] == sorted(range(500), key=key)


def test_a_column_may_stand_inside_a_struct_that_is_null(new_table: TableFactory) -> None:
    inner = StructType(NestedField(3, "a.b", StringType(), required=False))
    schema = Schema(NestedField(1, "s", inner, required=False), NestedField(2, "n", LongType(), required=False))
    order = SortOrder(SortField(3, IdentityTransform(), ASC, LAST), order_id=4)
    table = new_table(schema)
    sorter = RowOrder.of(order, schema)
    assert sorter is not None
    batch = rows(table, s=[{"a.b": "y"}, None, {"a.b": None}, {"a.b": "x"}], n=[0, 1, 2, 3])
    assert sorter.sort(batch)["n"].to_pylist() == [3, 0, 1, 2]


@pytest.mark.parametrize("of", [FloatType(), DoubleType()])
def test_floats_are_sorted_as_the_spec_has_it(new_table: TableFactory, of: IcebergType) -> None:
    table = sorted_by(
        new_table(Schema(NestedField(1, "f", of, required=False))), ("f", IdentityTransform(), ASC, FIRST)
    )
    values = [math.nan, 1.5, None, -math.inf, 0.0, -0.0, math.inf, -2.25, -math.nan, -1.0]
    (file,) = write(table, rows(table, f=values))
    assert [str(value) for value in columns(file)["f"]] == [
        *("None", "nan", "-inf", "-2.25", "-1.0", "-0.0", "0.0", "1.5", "inf", "nan")
    ]


@pytest.mark.parametrize(
    ("of", "values", "transform"),
    [(of, values, how) for of, values, hows in TRANSFORMED for how in [IdentityTransform(), *hows]],
    ids=str,
)
@pytest.mark.parametrize("direction", [ASC, DESC])
def test_every_type_and_transform_sorts_as_its_values_do(
    new_table: TableFactory,
    of: IcebergType,
    values: list[Any],
    transform: Transform[Any, Any],
    direction: SortDirection,
) -> None:
    table = sorted_by(
        new_table(Schema(NestedField(1, "v", of, required=False), NestedField(2, "n", LongType(), required=False))),
        ("v", transform, direction, LAST),
    )
    shuffled = random.Random(3).sample(values * 3, len(values) * 3)
    (file,) = write(table, rows(table, v=shuffled, n=list(range(len(shuffled)))))
    keys = [transform.transform(of)(value) for value in shuffled]
    present: list[tuple[Any, int]] = [(key, n) for n, key in enumerate(keys) if key is not None]
    if direction is ASC:
        ordered = [n for _, n in sorted(present)]
    else:
        # equal rows stay as they came
        ordered = [-n for _, n in sorted(((key, -n) for key, n in present), reverse=True)]
    assert columns(file)["n"] == [*ordered, *(n for n, key in enumerate(keys) if key is None)]


def test_each_partition_is_sorted_by_itself(new_table: TableFactory) -> None:
    table = sorted_by(
        new_table(SCHEMA, spec((2, IdentityTransform(), "name"))), ("id", IdentityTransform(), ASC, FIRST)
    )
    files = write(table, rows(table, id=[3, 1, 4, 1, 5, 9], name=["a", "b", "a", "b", "b", "a"]))
    assert {file.partition[0]: columns(file)["id"] for file in files} == {"a": [3, 4, 9], "b": [1, 1, 5]}
    assert {file.sort_order_id for file in files} == {1}


def test_file_of_several_writes_is_sorted_by_row_group_only(new_table: TableFactory) -> None:
    table = sorted_by(new_table(SCHEMA), ("id", IdentityTransform(), ASC, FIRST))
    batch = rows(table, id=[3, 2, 1], name=["x"] * 3)
    (file,) = write(table, batch, batch, budget=WriteBudget(buffer_bytes=0))
    assert columns(file)["id"] == [1, 2, 3, 1, 2, 3]
    assert file.sort_order_id is None


def test_file_of_one_write_is_sorted_across_row_groups(new_table: TableFactory) -> None:
    table = sorted_by(
        new_table(SCHEMA, properties={"write.parquet.row-group-limit": "2"}), ("id", IdentityTransform(), ASC, FIRST)
    )
    (file,) = write(table, rows(table, id=[5, 3, 2, 4, 1], name=["x"] * 5))
    assert pq.read_metadata(local(file.file_path)).num_row_groups == 3
    assert (columns(file)["id"], file.sort_order_id) == ([1, 2, 3, 4, 5], 1)


def test_columns_beside_the_sorted_ones_go_with_their_rows(new_table: TableFactory) -> None:
    schema = Schema(
        NestedField(1, "n", LongType(), required=False),
        NestedField(2, "u", UUIDType(), required=False),
        NestedField(3, "l", ListType(4, UUIDType(), element_required=False), required=False),
    )
    table = sorted_by(new_table(schema), ("n", IdentityTransform(), DESC, LAST))
    ids = [bytes([n]) * 16 for n in range(4)]
    (file,) = write(table, rows(table, n=[0, 1, 2, 3], u=ids, l=[[u, None] for u in ids]))
    read = commit(table, [file])
    assert read["n"].to_pylist() == [3, 2, 1, 0]
    assert [u.bytes for u in read["u"].to_pylist()] == ids[::-1]
    assert [pair[0].bytes for pair in read["l"].to_pylist()] == ids[::-1]


def test_required_columns_inside_required_structs_are_sorted_by(new_table: TableFactory) -> None:
    inner = StructType(NestedField(3, "zip", StringType(), required=True))
    schema = Schema(NestedField(1, "home", inner, required=True), identifier_field_ids=[3])
    sorter = RowOrder.of(SortOrder(SortField(3, IdentityTransform(), DESC, LAST)), schema)
    assert sorter is not None
    batch = rows(new_table(schema), home=[{"zip": "a"}, {"zip": "c"}, {"zip": "b"}])
    ordered = sorter.sort(batch)
    assert [home["zip"] for home in ordered["home"].to_pylist()] == ["c", "b", "a"]
    assert ordered.schema.equals(batch.schema)


def test_an_order_that_cannot_be_kept_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    listed = Schema(NestedField(1, "l", ListType(3, StringType(), element_required=False), required=False))
    for source in (3, 9):
        assert RowOrder.of(SortOrder(SortField(source, IdentityTransform(), ASC, FIRST)), listed) is None
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert "rows are not sorted" in caplog.text
    assert RowOrder.of(SortOrder(order_id=0), listed) is None
