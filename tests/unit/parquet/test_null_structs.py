"""Structs that are null although they require fields."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.table.sorting import NullOrder
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BinaryType,
    DecimalType,
    IcebergType,
    ListType,
    LongType,
    MapType,
    NestedField,
    PrimitiveType,
    StringType,
    StructType,
    UUIDType,
)

from floe.parquet.arrow_shapes import without_hidden_nulls
from floe.parquet.layout import FileLayout
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.schema.proposal import ColumnRules
from tests.support.tables.parquet_tables import TableFactory, commit, local, write


def struct(of: IcebergType, *, required: bool = True) -> StructType:
    return StructType(NestedField(100, "x", of, required=required))


def listed(of: IcebergType, *, required: bool = False) -> ListType:
    return ListType(200, of, element_required=required)


def mapped(of: IcebergType, *, required: bool = False) -> MapType:
    return MapType(300, StringType(), 301, of, value_required=required)


def schema_of(column: IcebergType, *, required: bool = False) -> Schema:
    return assign_fresh_schema_ids(Schema(NestedField(1, "s", column, required=required)))


def decoded(schema: Schema, *values: bytes) -> pa.Table:
    table = JsonDecoder(schema, ColumnRules(), create=False).decode(list(values)).table
    assert table is not None
    return table


def bare(value: Any) -> Any:
    """Leave out what tells a map from a list of pairs, and null from none of them.

    PyIceberg reads a null list or map of structs as an empty one (apache/iceberg-python#3833).
    """
    if isinstance(value, dict):
        return {name: bare(one) or None for name, one in value.items()}
    return [bare(one) for one in value] if isinstance(value, list | tuple) else value


LONG = LongType()


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (struct(LONG), ["null", '{"x":1}']),
        (struct(struct(LONG)), ["null", '{"x":{"x":1}}']),
        (struct(struct(struct(LONG), required=False)), ["null", '{"x":{"x":null}}', '{"x":{"x":{"x":1}}}']),
        (struct(listed(LONG, required=True)), ["null", '{"x":[]}', '{"x":[1,2]}']),
        (struct(listed(struct(LONG))), ["null", '{"x":[]}', '{"x":[null,{"x":1}]}']),
        (struct(mapped(LONG, required=True)), ["null", '{"x":{}}', '{"x":{"k":1}}']),
        (listed(struct(LONG)), ["null", "[]", "[null]", '[{"x":1},null]']),
        (listed(struct(LONG), required=True), ["null", "[]", '[{"x":1}]']),
        (mapped(struct(LONG)), ["null", "{}", '{"k":null}', '{"k":{"x":1},"l":null}']),
        (mapped(listed(struct(LONG))), ["null", '{"k":[null,{"x":1}]}']),
    ],
    ids=str,
)
def test_a_struct_may_be_null_whatever_it_requires(
    new_table: TableFactory, column: IcebergType, values: list[str]
) -> None:
    table = new_table(schema_of(column))
    records = [b'{"s":%s}' % value.encode() for value in values]
    rows = decoded(table.schema(), *records, b"{}", *reversed(records))
    files = write(table, rows, rows.slice(1), rows.slice(len(values) + 1))
    expected = [*rows.to_pylist(), *rows.to_pylist()[1:], *rows.to_pylist()[len(values) + 1 :]]
    assert pq.read_table(local(files[0].file_path)).to_pylist() == expected
    assert bare(commit(table, files).to_pylist()) == bare(expected)


@pytest.mark.parametrize(
    ("of", "text", "value"),
    [
        (UUIDType(), '"f79c3e09-677c-4bbd-a479-3f349cb785e7"', uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")),
        (BinaryType(), '"aGk="', b"hi"),
        (DecimalType(9, 2), "1.5", Decimal("1.50")),
        (StringType(), '"a"', "a"),
    ],
    ids=str,
)
def test_fields_of_every_kind_are_null_with_their_struct(
    new_table: TableFactory, of: PrimitiveType, text: str, value: Any
) -> None:
    table = new_table(schema_of(struct(of)))
    files = write(table, decoded(table.schema(), b'{"s":null}', b'{"s":{"x":%s}}' % text.encode()))
    expected = [{"s": None}, {"s": {"x": value}}]
    assert pq.read_table(local(files[0].file_path)).to_pylist() == expected
    assert commit(table, files).to_pylist() == expected
    assert (files[0].value_counts, files[0].null_value_counts) == ({2: 2}, {2: 1})


def test_rows_sorted_by_required_field_keep_their_nulls(new_table: TableFactory) -> None:
    table = new_table(schema_of(struct(struct(LONG))))
    with table.update_sort_order() as update:
        update.desc("s.x.x", IdentityTransform(), NullOrder.NULLS_LAST)
    rows = decoded(table.schema(), *[b'{"s":{"x":{"x":%d}}}' % (n % 3) for n in range(6)], b"{}", b'{"s":null}')
    files = write(table, rows, rows.slice(3))
    expected = [*rows.to_pylist(), *rows.to_pylist()[3:]]
    assert sorted(commit(table, files).to_pylist(), key=str) == sorted(expected, key=str)
    assert commit(table, []).to_pylist()[-4:] == [{"s": None}] * 4


def test_a_filter_finds_rows_by_what_a_struct_requires(new_table: TableFactory) -> None:
    table = new_table(schema_of(struct(LONG)))
    commit(table, write(table, decoded(table.schema(), b'{"s":null}', b'{"s":{"x":1}}', b'{"s":{"x":2}}')))
    assert table.scan("s.x = 2").to_arrow().to_pylist() == [{"s": {"x": 2}}]


def test_a_file_requires_what_the_table_requires(new_table: TableFactory) -> None:
    table = new_table(schema_of(struct(listed(struct(LONG), required=True))))
    (file,) = write(table, decoded(table.schema(), b'{"s":null}', b'{"s":{"x":[{"x":1}]}}'))
    assert pq.read_schema(local(file.file_path)).equals(schema_to_pyarrow(table.schema()))
    assert pq.read_schema(local(file.file_path)).field("s").type.field("x").metadata == {b"PARQUET:field_id": b"2"}


@pytest.mark.parametrize(
    ("column", "hides"),
    [
        (struct(LONG), True),
        (struct(LONG, required=False), False),
        (struct(struct(LONG), required=False), True),
        (listed(struct(LONG)), True),
        (listed(struct(LONG), required=True), False),
        (mapped(struct(LONG)), True),
        (mapped(struct(LONG), required=True), False),
        (MapType(6, struct(LONG), 7, LONG, value_required=True), False),
        (LONG, False),
    ],
    ids=str,
)
def test_only_columns_with_hidden_nulls_are_rebuilt(column: IcebergType, hides: bool) -> None:
    assert FileLayout.of(schema_of(column), {}).hiding == ({"s"} if hides else set())
    assert not FileLayout.of(schema_of(LONG, required=True), {}).hiding


def test_rows_share_the_memory_of_those_that_came(new_table: TableFactory) -> None:
    table = new_table(schema_of(struct(StringType())))
    rows = decoded(table.schema(), *[b'{"s":{"x":"%s"}}' % (b"x" * 1000)] * 1000, b"{}")
    before = pa.total_allocated_bytes()
    in_file = FileLayout.of(table.schema(), {}).in_file(rows)
    assert in_file.to_pylist() == rows.to_pylist()
    assert pa.total_allocated_bytes() - before < 10_000


def test_a_null_that_no_struct_hides_is_refused_by_the_writer() -> None:
    of = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    wrong = pa.StructArray.from_arrays(
        [pa.array([1, None, None])], fields=list(of), mask=pa.array([False, False, True])
    )
    with pytest.raises(pa.ArrowInvalid, match="declared non-nullable but contains nulls"):
        pq.write_table(pa.table({"s": without_hidden_nulls(wrong)}), pa.BufferOutputStream())
