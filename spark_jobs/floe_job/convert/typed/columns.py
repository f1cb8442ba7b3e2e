"""Columns of a decoder into columns of a table, without a Python object for a value, where that is exact.

A conversion returns the column and the rows of it that are not exact: those are converted one by one, or rejected. What
has no columnar conversion at all is converted one by one as a whole. The result is the same either way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
import pyarrow as pa
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType, UUIDType

from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.typed.debezium.columns import meant_leaf
from floe_job.convert.typed.leaves import Inexact, coercion_leaf, either, leaf
from floe_job.convert.typed.python_values import Lengths, lengths_of, map_entries
from floe_job.convert.typed.uuids import uuids
from floe_job.types import Lookup

Columnar = Callable[[pa.Array], tuple[pa.Array, Inexact]]


def columnar(source: ConnectSchema, target: IcebergType, arrow: pa.DataType, lookup: Lookup) -> Columnar | None:
    """Return the conversion of a source's columns into those of a table's column; None where there is none."""
    if isinstance(target, StructType):
        return _struct(source, target, arrow, lookup) if source.kind is Kind.STRUCT else None
    if isinstance(target, ListType):
        return _list(source, target, arrow, lookup) if source.kind is Kind.ARRAY else None
    if isinstance(target, MapType):
        return _map(source, target, arrow, lookup) if source.kind is Kind.MAP else None
    if isinstance(target, UUIDType):
        return partial(uuids, arrow=arrow) if source.kind is Kind.STRING else None
    return _leaf(source, target, arrow) or coercion_leaf(source, target, arrow)


def _leaf(source: ConnectSchema, target: IcebergType, arrow: pa.DataType) -> Columnar | None:
    return meant_leaf(source, target, arrow) or leaf(source, target, arrow)


def field_columnar(source: ConnectSchema, field: NestedField, arrow: pa.DataType, lookup: Lookup) -> Columnar | None:
    """Return the conversion into a column that may be required: then a null is not exact."""
    convert = columnar(source, field.field_type, arrow, lookup)
    if convert is None or field.optional:
        return convert

    def convert_required(column: pa.Array) -> tuple[pa.Array, Inexact]:
        converted, inexact = convert(column)
        return converted, either(inexact, nulls_of(column))

    return convert_required


def nulls_of(column: pa.Array) -> Inexact:
    """Return the rows that are null."""
    return _mask(column.is_null()) if column.null_count else None


def chosen_fields(source: ConnectSchema, target: StructType, lookup: Lookup) -> dict[str, int]:
    """Return which field of a struct fills each column, by its place; of two fields for one column the last one counts."""
    names = lookup.of(target)
    chosen = {names.column(name): place for place, (name, _) in enumerate(source.fields)}
    return {name: place for name, place in chosen.items() if name is not None}


def _mask(array: pa.Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return cast("np.ndarray[Any, np.dtype[np.bool_]]", array.to_numpy(zero_copy_only=False))


def _struct(source: ConnectSchema, target: StructType, arrow: pa.DataType, lookup: Lookup) -> Columnar | None:
    chosen = chosen_fields(source, target, lookup)
    fields = [arrow.field(place) for place in range(arrow.num_fields)]
    converters: list[tuple[int | None, Columnar | None]] = []
    for column, kind in zip(target.fields, fields, strict=True):
        place = chosen.get(column.name)
        if place is None:
            converters.append((None, None))
            continue
        convert = field_columnar(source.fields[place][1], column, kind.type, lookup)
        if convert is None:
            return None
        converters.append((place, convert))
    is_incomplete = any(
        column.required and place is None for column, (place, _) in zip(target.fields, converters, strict=True)
    )

    def convert_struct(column: pa.StructArray) -> tuple[pa.Array, Inexact]:
        children, is_null = column.flatten(), nulls_of(column)
        converted: list[pa.Array] = []
        inexact: Inexact = np.ones(len(column), np.bool_) if is_incomplete else None
        for (place, convert), kind in zip(converters, fields, strict=True):
            if place is None or convert is None:
                converted.append(pa.nulls(len(column), kind.type))
                continue
            child, rows = convert(children[place])
            converted.append(child)
            inexact = either(inexact, rows)
        if inexact is not None and is_null is not None:
            inexact = inexact & ~is_null
        mask = None if is_null is None else pa.array(is_null)
        return pa.StructArray.from_arrays(converted, fields=fields, mask=mask), inexact

    return convert_struct


def _list(source: ConnectSchema, target: ListType, arrow: pa.DataType, lookup: Lookup) -> Columnar | None:
    inner = field_columnar(cast(ConnectSchema, source.element), target.element_field, arrow.value_type, lookup)
    if inner is None:
        return None

    def convert_list(column: pa.Array) -> tuple[pa.Array, Inexact]:
        lengths = lengths_of(column)
        values, rows = inner(column.flatten())
        offsets = _offsets(lengths)
        mask = None if not column.null_count else column.is_null()
        made = pa.LargeListArray.from_arrays(pa.array(offsets), values, type=arrow, mask=mask)
        return made, _owners(rows, lengths)

    return convert_list


def _map(source: ConnectSchema, target: MapType, arrow: pa.DataType, lookup: Lookup) -> Columnar | None:
    # keys that may become the same one are converted one by one
    key = _leaf(cast(ConnectSchema, source.key), target.key_type, arrow.key_type)
    entry = field_columnar(cast(ConnectSchema, source.element), target.value_field, arrow.item_type, lookup)
    if key is None or entry is None:
        return None

    def convert_map(column: pa.MapArray) -> tuple[pa.Array, Inexact]:
        keys, values, lengths = map_entries(column)
        (keys, bad_keys), (values, bad_values) = key(keys), entry(values)
        rows = either(either(bad_keys, bad_values), nulls_of(keys))
        inexact = _owners(rows, lengths)
        if keys.null_count:  # Arrow takes no such map; the exact way takes its place
            kept = keys.is_valid()
            owners = np.repeat(np.arange(len(lengths)), lengths)[_mask(kept)]
            lengths = np.bincount(owners, minlength=len(lengths))
            keys, values = keys.filter(kept), values.filter(kept)
        offsets = pa.array(_offsets(lengths).astype(np.int32))
        mask = None if not column.null_count else column.is_null()
        return pa.MapArray.from_arrays(offsets, keys, values, type=arrow, mask=mask), inexact

    return convert_map


def _offsets(lengths: Lengths) -> np.ndarray[Any, np.dtype[np.int64]]:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _owners(rows: Inexact, lengths: Lengths) -> Inexact:
    """Return the lists or maps that have some of their entries."""
    if rows is None:
        return None
    owners = np.repeat(np.arange(len(lengths)), lengths)[rows]
    found = np.zeros(len(lengths), np.bool_)
    found[owners] = True
    return found
