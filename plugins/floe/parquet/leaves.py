"""The primitive columns of a schema, inside of structs, lists and maps too, and their values in rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, ListType, MapType, PrimitiveType, StructType

_Step = Callable[[pa.Array], pa.Array]


@dataclass(frozen=True)
class Leaf:
    """A primitive column. ``path``: Parquet's name for it; ``column``: the place of the column at the root around it."""

    field_id: int
    type: PrimitiveType
    path: str
    column: int
    steps: tuple[_Step, ...]

    def values(self, rows: pa.Table) -> Iterator[pa.Array]:
        """Yield its values in their storage; null where a struct around them is, and none where a list or a map is null."""
        for chunk in rows.column(self.column).chunks:
            inside = chunk
            for step in self.steps:
                inside = step(inside)
            yield inside.storage if isinstance(inside, pa.ExtensionArray) else inside


def leaves(schema: Schema, column_ids: Mapping[str, int]) -> list[Leaf]:
    """Return the primitive columns of a schema; ``column_ids``: Parquet's paths with their field ids."""
    paths = {field_id: path for path, field_id in column_ids.items()}
    return [
        Leaf(field_id, of, paths[field_id], column, steps)
        for column, field in enumerate(schema.fields)
        for field_id, of, steps in _inside(field.field_id, field.field_type, ())
    ]


def _inside(
    field_id: int, of: IcebergType, steps: tuple[_Step, ...]
) -> Iterator[tuple[int, PrimitiveType, tuple[_Step, ...]]]:
    if isinstance(of, StructType):
        for position, field in enumerate(of.fields):
            yield from _inside(field.field_id, field.field_type, (*steps, partial(_field, position=position)))
    elif isinstance(of, ListType):
        yield from _inside(of.element_id, of.element_type, (*steps, _elements))
    elif isinstance(of, MapType):
        yield from _inside(of.key_id, of.key_type, (*steps, _keys))
        yield from _inside(of.value_id, of.value_type, (*steps, _items))
    elif isinstance(of, PrimitiveType):
        yield field_id, of, steps


def _field(array: pa.Array, position: int) -> pa.Array:
    return pc.struct_field(array, [position])


def _elements(array: pa.Array) -> pa.Array:
    return array.flatten()


def _keys(array: pa.Array) -> pa.Array:
    array, start, count = _entries(array)
    return array.keys.slice(start, count)


def _items(array: pa.Array) -> pa.Array:
    array, start, count = _entries(array)
    return array.items.slice(start, count)


def _entries(array: pa.Array) -> tuple[pa.Array, int, int]:
    """Return maps with where their entries are: a null one may have some in memory."""
    if array.null_count == len(array):
        array = array.slice(0, 0)  # of nulls alone Arrow makes no empty array of its own, if UUIDs are inside
    elif array.null_count:
        array = array.drop_null()
    start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
    return array, start, end - start
