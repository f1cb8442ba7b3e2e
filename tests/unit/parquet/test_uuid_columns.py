"""UUID columns: what their files say of them holds in the spec's order and in that of Iceberg's Java library."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.types import ListType, LongType, MapType, NestedField, StringType, StructType, UUIDType

from floe.parquet.data_file import UuidMetrics
from floe.parquet.layout import FileLayout
from tests.support.tables.parquet_tables import TableFactory, commit, local, rows, write

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False), NestedField(2, "u", UUIDType(), required=False))
BELOW = [UUID("018f6b2e-0001-7000-8000-000000000001"), UUID("61f0c404-0000-4000-8000-000000000002")]
ABOVE = [UUID("cd613e30-d8f1-4adf-91b7-584a2265b1f1"), UUID("ff613e30-d8f1-4adf-91b7-584a2265b1f1")]
NESTED = Schema(
    NestedField(1, "s", StructType(NestedField(2, "u", UUIDType(), required=False)), required=False),
    NestedField(3, "l", ListType(4, UUIDType(), element_required=False), required=False),
    NestedField(5, "m", MapType(6, StringType(), 7, UUIDType(), value_required=False), required=False),
    NestedField(8, "k", MapType(9, UUIDType(), 10, LongType(), value_required=False), required=False),
)


def signed(value: UUID) -> tuple[int, int]:
    """Return a key by which Java's ``UUID`` compares."""
    halves = (int.from_bytes(value.bytes[i : i + 8], "big", signed=True) for i in (0, 8))
    return next(halves), next(halves)


def statistics(file: DataFile) -> dict[str, bool]:
    group = pq.ParquetFile(local(file.file_path)).metadata.row_group(0)
    columns = (group.column(i) for i in range(group.num_columns))
    return {column.path_in_schema: column.is_stats_set or column.has_dictionary_page for column in columns}


def stored(values: list[UUID | None]) -> list[bytes | None]:
    return [value if value is None else value.bytes for value in values]


@pytest.mark.parametrize(
    ("values", "lower", "upper"),
    [
        (BELOW + ABOVE, None, None),
        (BELOW, None, BELOW[1]),
        (ABOVE, ABOVE[0], None),
        ([None, *BELOW], None, BELOW[1]),
        ([None], None, None),
        ([UUID(int=5), UUID(int=1 << 63)], None, None),
    ],
)
@pytest.mark.parametrize("batches", [1, 2])
def test_uuid_bounds_are_those_that_readers_agree_on(
    new_table: TableFactory, values: list[UUID | None], lower: UUID | None, upper: UUID | None, batches: int
) -> None:
    table = new_table(SCHEMA, properties={"write.parquet.row-group-limit": "3"})
    parts = [stored(values[i::batches]) for i in range(batches)]
    (file,) = write(table, *(rows(table, id=[1] * len(part), u=part) for part in parts))
    assert file.lower_bounds.get(2) == (lower and lower.bytes)
    assert file.upper_bounds.get(2) == (upper and upper.bytes)
    assert (file.value_counts[2], file.null_value_counts[2]) == (len(values), values.count(None))
    assert statistics(file) == {"id": True, "u": False}
    assert sorted(commit(table, [file])["u"].to_pylist(), key=str) == sorted(values, key=str)


@given(
    values=st.lists(st.uuids(version=None) | st.sampled_from([*BELOW, *ABOVE]), min_size=1, max_size=5),
    literal=st.uuids(version=None) | st.sampled_from([*BELOW, *ABOVE]),
)
def test_uuid_bounds_never_hide_a_row_in_either_order(values: list[UUID], literal: UUID) -> None:
    layout = FileLayout.of(SCHEMA, {})
    (leaf, mode), *_ = layout.uuids
    metrics = UuidMetrics(leaf, mode)
    arrays = {"id": [0] * len(values), "u": stored(values)}
    metrics.add(rows(_Schema(), **arrays))  # type: ignore[arg-type]
    lower, upper = (None if bound is None else UUID(bytes=bound) for bound in metrics.bounds)
    for key in (signed, lambda one: one.int):
        if lower is not None:
            assert key(lower) <= key(literal) or literal not in values
            assert key(lower) < key(literal) or not any(value < literal for value in values)
        if upper is not None:
            assert key(upper) >= key(literal) or literal not in values
            assert key(upper) > key(literal) or not any(value > literal for value in values)


class _Schema:
    """What ``rows`` asks of a table."""

    def schema(self) -> Schema:
        return SCHEMA


@pytest.mark.parametrize(("mode", "counts"), [("none", None), ("counts", (3, 1)), ("truncate(16)", (3, 1))])
def test_uuid_metrics_follow_the_columns_mode(
    new_table: TableFactory, mode: str, counts: tuple[int, int] | None
) -> None:
    table = new_table(SCHEMA, properties={"write.metadata.metrics.column.u": mode})
    (file,) = write(table, rows(table, id=[1, 2, 3], u=stored([*BELOW, None])))
    found = (file.value_counts[2], file.null_value_counts[2]) if 2 in file.value_counts else None
    assert found == counts
    assert (2 in file.upper_bounds) == (mode == "truncate(16)")


def test_nested_uuids_have_counts_and_no_statistics(new_table: TableFactory) -> None:
    table = new_table(NESTED)
    one, two = stored([BELOW[0], ABOVE[0]])
    assert one is not None and two is not None
    batch = rows(
        table,
        s=[{"u": one}, None, {"u": None}, {"u": two}],
        l=[[one, None, two], None, [], [two]],
        m=[[("a", one), ("b", None)], None, [], [("c", two)]],
        k=[[(one, 1), (two, 2)], None, [], [(two, 3)]],
    )
    (file,) = write(table, batch.slice(0, 2), batch.slice(2))
    assert {path: has for path, has in statistics(file).items() if has} == {
        "m.key_value.key": True,
        "k.key_value.value": True,
    }
    ids = [table.schema().find_field(name).field_id for name in ("s.u", "l.element", "m.value", "k.key")]
    assert not set(ids) & (file.lower_bounds.keys() | file.upper_bounds.keys())
    assert [file.value_counts[i] for i in ids] == [4, 6, 5, 5]
    assert [file.null_value_counts[i] for i in ids] == [2, 3, 3, 2]
    assert commit(table, [file]).num_rows == 4


@pytest.mark.parametrize("nothing", [None, []], ids=["null", "empty"])
def test_nested_uuids_of_which_there_are_none_are_written(new_table: TableFactory, nothing: list[Any] | None) -> None:
    table = new_table(NESTED)
    batch = rows(table, s=[None] * 3, l=[nothing] * 3, m=[nothing] * 3, k=[nothing] * 3)
    (file,) = write(table, batch, batch.slice(1), batch.slice(0, 0))
    assert commit(table, [file]).select(["l", "m", "k"]).to_pylist() == [dict.fromkeys("lmk", nothing)] * 5
    assert [file.value_counts[table.schema().find_field(name).field_id] for name in ("l.element", "m.value")] == [5, 5]
