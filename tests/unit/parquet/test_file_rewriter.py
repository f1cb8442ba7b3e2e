"""Rewritten files hold the rows that stay, of every type, as the workers' writer would have written them."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import ListType, LongType, MapType, NestedField, StringType, StructType, UUIDType

from floe.catalogs import pyiceberg_patches
from floe.parquet.exceptions import UnsupportedFileFormat
from floe.parquet.file_rewriter import FileRewriter
from tests.support.tables.parquet_tables import SCHEMA, TRANSFORMED, TableFactory, commit, local, rows, write

INNER = StructType(NestedField(90, "a b", LongType(), required=True), NestedField(91, "u", UUIDType(), required=False))
NESTED = Schema(
    NestedField(1, "struct", INNER, required=False),
    NestedField(2, "list", ListType(20, INNER, element_required=False), required=False),
    NestedField(3, "map", MapType(30, StringType(), 31, ListType(32, StringType()), value_required=False)),
)
U = bytes(range(16))


def rewritten(table: Table, origin: DataFile, **properties: str) -> DataFile:
    pyiceberg_patches.apply()
    rewriter = FileRewriter(table.metadata, table.io, table.schema(), {**table.properties, **properties})
    return rewriter.rewrite(origin, table.scan().to_arrow_batch_reader())


def test_rewrite_of_every_type_keeps_rows_and_metrics(new_table: TableFactory) -> None:
    schema = Schema(*(NestedField(i, f"c {i}", of, required=False) for i, (of, _, _) in enumerate(TRANSFORMED, 1)))
    table = new_table(schema)
    columns = {f"c{i}": [*values, None, None][:3] for i, (_, values, _) in enumerate(TRANSFORMED)}
    (origin,) = write(table, rows(table, **columns))
    before = commit(table, [origin])
    again = rewritten(table, origin)
    for name in ("record_count", "lower_bounds", "upper_bounds", "null_value_counts", "value_counts"):
        assert getattr(again, name) == getattr(origin, name)
    assert pq.read_schema(local(again.file_path)).equals(pq.read_schema(local(origin.file_path)))
    assert commit(table, [again]).num_rows == 2 * before.num_rows


def test_rewrite_of_nested_columns_keeps_their_nulls(new_table: TableFactory) -> None:
    table = new_table(NESTED)
    values = [
        [{"a b": 1, "u": U}, None, {"a b": 3, "u": None}],
        [[{"a b": 1, "u": U}, None], None, []],
        [[("k", ["v", "w"])], None, [("k", None), ("l", [])]],
    ]
    (origin,) = write(table, rows(table, struct=values[0], list=values[1], map=values[2]))
    before = commit(table, [origin])
    again = rewritten(table, origin)
    assert commit(table, [again]).slice(before.num_rows).equals(before)
    assert again.null_value_counts == origin.null_value_counts


def test_rewrite_refuses_a_format_that_floe_cannot_write(new_table: TableFactory) -> None:
    table = new_table(SCHEMA)
    with pytest.raises(UnsupportedFileFormat, match="'orc'"):
        FileRewriter(table.metadata, table.io, table.schema(), {"write.format.default": "orc"})


def test_rewrite_honours_row_groups_of_the_table(new_table: TableFactory) -> None:
    table = new_table(SCHEMA)
    (origin,) = write(table, rows(table, id=list(range(10)), name=["x"] * 10))
    commit(table, [origin])
    again = rewritten(table, origin, **{"write.parquet.row-group-limit": "4"})
    assert pq.ParquetFile(local(again.file_path)).num_row_groups == 3
    assert schema_to_pyarrow(table.schema()).names == pq.read_schema(local(again.file_path)).names
