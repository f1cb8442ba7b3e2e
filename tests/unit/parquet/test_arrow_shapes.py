"""Arrays come to their shape and their names whatever slice of another array they are."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import IcebergType, ListType, LongType, MapType, NestedField, StringType, StructType

from floe.parquet.arrow_shapes import rename, reshape, storage_type
from floe.parquet.layout import FileLayout
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.schema.proposal import ColumnRules


def struct(name: str, field: pa.DataType) -> pa.DataType:
    return pa.struct([pa.field(name, field)])


def types(name: str) -> dict[str, pa.DataType]:
    """Types of every shape, with a field of that name at the bottom."""
    items = struct(name, pa.int64())
    return {
        "struct": items,
        "list": pa.large_list(items),
        "map": pa.map_(pa.string(), items),
        "list of lists": pa.large_list(pa.large_list(items)),
        "list of maps": pa.large_list(pa.map_(pa.string(), items)),
        "map of lists": pa.map_(pa.string(), pa.large_list(items)),
        "map under a struct key": pa.map_(items, pa.string()),
        "struct of list and map": pa.struct(
            [pa.field("l", pa.large_list(items)), pa.field(name, pa.map_(pa.string(), items))]
        ),
        "list of structs of lists": pa.large_list(struct("l", pa.large_list(items))),
    }


def of(target: pa.DataType) -> st.SearchStrategy[Any]:
    """Values of a type, nulls among them where there may be some."""
    if pa.types.is_struct(target):
        values: st.SearchStrategy[Any] = st.fixed_dictionaries({field.name: of(field.type) for field in target})
    elif pa.types.is_map(target):
        keys = st.just({"a b": 1}) if pa.types.is_struct(target.key_type) else st.sampled_from(["j", "k"])
        values = st.lists(st.tuples(keys, of(target.item_type)), max_size=2)
    elif pa.types.is_large_list(target):
        values = st.lists(of(target.value_type), max_size=2)
    else:
        values = st.just("v") if pa.types.is_string(target) else st.integers(-9, 9)
    return st.none() | values


def bare(value: Any) -> Any:
    """Leave the names of fields out."""
    if isinstance(value, dict):
        return [bare(entry) for entry in value.values()]
    return [bare(entry) for entry in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("shape", types(""))
@given(st.data())
def test_a_slice_of_any_shape_is_renamed_and_reshaped(shape: str, data: st.DataObject) -> None:
    source, target = types("a b")[shape], types("a_x20b")[shape]
    values = data.draw(st.lists(of(source), max_size=6))
    first, last = sorted((data.draw(st.integers(0, len(values))), data.draw(st.integers(0, len(values)))))
    array = pa.array(values, source)
    rows = bare(array.to_pylist()[first:last])
    for part in (array[first:last], array[first:][: last - first]):
        for made, wanted in ((rename(part, target), target), (reshape(part, source), source)):
            made.validate(full=True)
            assert made.type.equals(wanted, check_metadata=True)
            assert bare(made.to_pylist()) == rows


def test_what_is_stored_as_bytes_is_reshaped_in_a_slice_of_lists() -> None:
    target = pa.large_list(pa.uuid())
    ids = [[uuid.UUID(int=1)], None, [uuid.UUID(int=2), None]]
    array = pa.array([None if row is None else [id and id.bytes for id in row] for row in ids], storage_type(target))
    assert reshape(array[1:], target).to_pylist() == ids[1:]


ITEM = StructType(NestedField(10, "x y", LongType(), required=False))


@pytest.mark.parametrize(
    ("column", "value", "in_file"),
    [
        (ListType(11, ITEM, element_required=False), '[{"x y":%d}]', lambda n: [{"x_x20y": n}]),
        (MapType(11, StringType(), 12, ITEM, value_required=False), "null", lambda _: None),
        (
            StructType(NestedField(13, "l", ListType(11, ITEM, element_required=False), required=False)),
            '{"l":[{"x y":%d}]}',
            lambda n: {"l": [{"x_x20y": n}]},
        ),
    ],
    ids=["list", "map", "list in a struct"],
)
def test_rows_around_slow_records_keep_values_and_nulls(
    column: IcebergType, value: str, in_file: Callable[[int], Any]
) -> None:
    fields = [NestedField(1, "id", LongType(), required=False), NestedField(2, "l", column, required=False)]
    schema = assign_fresh_schema_ids(Schema(*fields))
    values = [b'{"id":%d,"l":%s}' % (n, value.replace("%d", str(n)).encode()) for n in range(200)]
    values[100], values[150] = b'{"id":"5"}', b'{"id":3}'
    decoded = JsonDecoder(schema, ColumnRules(), create=False).decode(values)
    assert decoded.table is not None
    assert decoded.fast_rows == 199
    written = FileLayout.of(schema, {}).in_file(decoded.table)
    written.validate(full=True)
    wanted = [(n, in_file(n)) for n in range(200)]
    wanted[100], wanted[150] = (5, None), (3, None)
    assert [tuple(row.values()) for row in written.to_pylist()] == wanted
