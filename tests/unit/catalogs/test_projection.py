"""Rows in the table's schema: nulls of nested columns stay, renamed and added fields are found."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.io import pyarrow as engine
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import ListType, LongType, MapType, NestedField, StringType, StructType

from floe.catalogs import pyiceberg_patches
from floe.catalogs.pyiceberg_patches import NullKeeping


def topping(name: str = "x", *more: NestedField) -> StructType:
    return StructType(NestedField(90, name, LongType(), required=False), *more)


def lists(of: StructType) -> ListType:
    return ListType(80, of, element_required=False)


def maps(of: StructType) -> MapType:
    return MapType(81, StringType(), 82, of, value_required=False)


SHAPES = {
    "list": (lists, [[{"x": 1}], None, [], [None], [{"x": None}, {"x": 2}]]),
    "map": (maps, [[("a", {"x": 1})], None, [], [("a", None)], [("b", {"x": None}), ("c", {"x": 2})]]),
    "list in a list": (
        lambda of: ListType(70, lists(of), element_required=False),
        [[[{"x": 1}], None, []], None, [], [None], [[None]]],
    ),
    "list in a struct": (
        lambda of: StructType(NestedField(71, "l", lists(of), required=False)),
        [{"l": [{"x": 1}]}, {"l": None}, None, {"l": []}, {"l": [None]}],
    ),
    "map in a list": (
        lambda of: ListType(72, maps(of), element_required=False),
        [[[("a", {"x": 1})]], None, [None, []], [], [[("a", None)]]],
    ),
}


def schema_of(shape: str, of: StructType) -> Schema:
    return Schema(NestedField(1, "column", SHAPES[shape][0](of), required=False))  # type: ignore[operator]


def batch_of(shape: str) -> pa.RecordBatch:
    fields = schema_to_pyarrow(schema_of(shape, topping()), include_field_ids=False)
    return pa.RecordBatch.from_pylist([{"column": value} for value in SHAPES[shape][1]], schema=fields)  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "ArrowProjectionVisitor", engine.ArrowProjectionVisitor)
    pyiceberg_patches.apply()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("start", [0, 1, 3])
def test_what_is_null_stays_null_also_in_a_part_of_a_batch(shape: str, start: int) -> None:
    schema, part = schema_of(shape, topping()), batch_of(shape).slice(start)
    projected = engine._to_requested_schema(schema, schema, part)
    projected.validate(full=True)
    assert projected["column"].to_pylist() == part["column"].to_pylist()


@pytest.mark.parametrize("shape", SHAPES)
def test_renamed_or_added_fields_are_found_by_their_ids(shape: str) -> None:
    wider = schema_of(shape, topping("renamed", NestedField(91, "added", StringType(), required=False)))
    projected = engine._to_requested_schema(wider, schema_of(shape, topping()), batch_of(shape))
    projected.validate(full=True)
    message = str(projected["column"].to_pylist())
    wanted = str(batch_of(shape)["column"].to_pylist()).replace("'x': 1", "'renamed': 1, 'added': None")
    wanted = wanted.replace("'x': 2", "'renamed': 2, 'added': None").replace(
        "'x': None", "'renamed': None, 'added': None"
    )
    assert message == wanted


def test_pyiceberg_still_loses_nulls_of_nested_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "ArrowProjectionVisitor", NullKeeping.__mro__[1])
    schema = schema_of("list", topping())
    assert engine._to_requested_schema(schema, schema, batch_of("list"))["column"][1].as_py() == []
