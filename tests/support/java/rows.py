"""Rows and schemas of Iceberg as JSON, the way that the Java programs of the tests print them."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any
from uuid import UUID

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StringType,
    StructType,
    UUIDType,
)


def rows_json(table: pa.Table, schema: Schema) -> list[dict[str, Any]]:
    """Return rows: numbers as text, floats as their bits, bytes and texts as hex, times as microseconds, maps sorted."""
    columns = [_values(table[i].combine_chunks(), field.field_type) for i, field in enumerate(schema.fields)]
    names = [field.name for field in schema.fields]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def tree(schema: Schema) -> dict[str, Any]:
    """Return names, types and what is required of a schema; ``!`` is what is required."""
    return _inside(schema.as_struct())  # type: ignore[no-any-return]


def _inside(kind: IcebergType) -> Any:
    if isinstance(kind, StructType):
        return {_mark(field): _inside(field.field_type) for field in kind.fields}
    if isinstance(kind, ListType):
        return [_mark(kind.element_field), _inside(kind.element_type)]
    if isinstance(kind, MapType):
        return ["map", _inside(kind.key_type), _mark(kind.value_field), _inside(kind.value_type)]
    return str(kind)


def _mark(field: NestedField) -> str:
    return field.name + "!" * field.required


def _values(column: pa.Array, kind: IcebergType) -> list[Any]:
    if isinstance(kind, StructType):
        return _structs(column, kind)
    if isinstance(kind, ListType):
        return _cut(column, _values(column.values, kind.element_type))
    if isinstance(kind, MapType):
        pairs = zip(_values(column.keys, kind.key_type), _values(column.items, kind.value_type), strict=True)
        entries = [f"{_text(key)}:{_text(value)}" for key, value in pairs]
        return [None if some is None else sorted(some) for some in _cut(column, entries)]
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64())
    printed = _PRINTED.get(type(kind), str)
    return [None if value is None else printed(value) for value in column.to_pylist()]


def _structs(column: pa.StructArray, kind: StructType) -> list[Any]:
    names = [field.name for field in kind.fields]
    children = [_values(child, f.field_type) for child, f in zip(column.flatten(), kind.fields, strict=True)]
    rows: Iterable[Any] = zip(*children, strict=True) if children else [()] * len(column)
    valid = column.is_valid().to_pylist()
    return [dict(zip(names, row, strict=True)) if is_valid else None for is_valid, row in zip(valid, rows, strict=True)]


def _cut(column: pa.Array, entries: list[Any]) -> list[Any]:
    ends = pairwise(column.offsets.to_pylist())
    return [
        entries[a:b] if is_valid else None for is_valid, (a, b) in zip(column.is_valid().to_pylist(), ends, strict=True)
    ]


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _bits(pack: str, unpack: str, nan: str) -> Callable[[float], str]:
    return lambda value: nan if math.isnan(value) else format(struct.unpack(unpack, struct.pack(pack, value))[0], "x")


_PRINTED: dict[type[IcebergType], Callable[[Any], str]] = {
    BooleanType: lambda value: "true" if value else "false",
    FloatType: _bits(">f", ">I", "7fc00000"),
    DoubleType: _bits(">d", ">Q", "7ff8000000000000"),
    DecimalType: lambda value: format(value, "f"),
    StringType: lambda value: value.encode().hex(),
    BinaryType: bytes.hex,
    FixedType: bytes.hex,
    UUIDType: lambda value: str(UUID(bytes=value)),
    DateType: str,
}
