"""Columns of a decoder into columns of a table, without a Python object for a value, where that is exact.

A conversion returns the column and the rows of it that are not exact: those are converted one by one, or rejected. What
has no columnar conversion at all is converted one by one as a whole. The result is the same either way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.types import (
    DateType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from floe_job.connect import debezium
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.typed.leaves import Inexact, Leaf, beyond, bounded, coercion_leaf, either, leaf, rows_of
from floe_job.convert.typed.python_values import Lengths, as_numbers, lengths_of, map_entries
from floe_job.types import Lookup
from floe_job.types.temporal import FIRST_DAY, FIRST_MICRO, LAST_DAY, LAST_MICRO, MICROS_PER_DAY

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


# Columns of UUIDs as text into columns of their 16 bytes.


_LENGTH: Final = 36
_DASHES: Final = (8, 13, 18, 23)
_DIGITS: Final = tuple(place for place in range(_LENGTH) if place not in _DASHES)
_NONE: Final = 255
_VALUES: Final = np.full(256, _NONE, np.uint8)
"""The value of each hexadecimal digit."""
for _value, _digit in enumerate("0123456789abcdef"):
    _VALUES[[ord(_digit), ord(_digit.upper())]] = _value


def uuids(column: pa.Array, arrow: pa.DataType) -> tuple[pa.Array, Inexact]:
    """Return the UUIDs of texts (large_string), and the rows that are none in the canonical form."""
    valid: np.ndarray[Any, np.dtype[np.bool_]] = column.is_valid().to_numpy(zero_copy_only=False)
    _, ends, text = column.buffers()
    offsets = np.frombuffer(ends, np.int64)[column.offset : column.offset + len(column) + 1] if len(column) else _EMPTY
    rows = np.flatnonzero(valid & (np.diff(offsets) == _LENGTH))
    found = np.zeros((len(column), 16), np.uint8)
    good = np.zeros(len(column), np.bool_)
    if len(rows):
        letters = np.frombuffer(text, np.uint8)[offsets[rows][:, None] + np.arange(_LENGTH)]
        values = _VALUES[letters[:, _DIGITS]]
        good[rows] = (letters[:, _DASHES] == ord("-")).all(axis=1) & (values != _NONE).all(axis=1)
        found[rows] = (values[:, ::2] << 4) | (values[:, 1::2] & 15)
    buffers = [pa.py_buffer(np.packbits(good, bitorder="little")), pa.py_buffer(found)]
    made = pa.Array.from_buffers(pa.binary(16), len(column), buffers)
    bad = valid & ~good
    if made.type != arrow:
        made = arrow.wrap_array(made)
    return made, bad if bad.any() else None


_EMPTY: Final = np.zeros(1, np.int64)


# Columns of Debezium's semantic types into columns of time, without a Python object for a value.


_STAMPS: Final = (TimestampType, TimestamptzType)
_TICKS: Final[dict[str, tuple[tuple[type[IcebergType], ...], int, int]]] = {
    debezium.TIME_MILLIS: ((TimeType,), 1000, 1),
    debezium.TIME_MICROS: ((TimeType,), 1, 1),
    debezium.TIME_NANOS: ((TimeType,), 1, 1000),
    debezium.TIMESTAMP_MILLIS: (_STAMPS, 1000, 1),
    debezium.TIMESTAMP_MICROS: (_STAMPS, 1, 1),
    debezium.TIMESTAMP_NANOS: (_STAMPS, 1, 1000),
}
"""Numbers: the columns that take what they mean, and by what they are multiplied, or divided, to become microseconds."""

_DAY: Final = r"\d{4}-\d{2}-\d{2}"
_TIME: Final = r"\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?"
_OFFSET: Final = r"(?:Z|[+-](?:0\d|1[0-7]):[0-5]\d)"
_TEXTS: Final[dict[str, tuple[tuple[type[IcebergType], ...], str, pa.DataType]]] = {
    debezium.ZONED_TIMESTAMP: ((TimestamptzType,), f"{_DAY}T{_TIME}{_OFFSET}", pa.timestamp("us", "UTC")),
    debezium.ISO_TIMESTAMP: (_STAMPS, f"{_DAY}T{_TIME}{_OFFSET}", pa.timestamp("us", "UTC")),
    debezium.ISO_DATE: ((DateType,), f"{_DAY}Z?", pa.date32()),
    debezium.ISO_TIME: ((TimeType,), f"{_TIME}Z", pa.timestamp("us", "UTC")),
}
"""Texts: the columns that take what they mean, how those are spelled that Arrow reads as floe does, and as what."""

_EPOCH, _NOTHING = (pa.scalar(text, pa.large_string()) for text in ("1970-01-01T", ""))
_PREPARED: Final[dict[str, Callable[[pa.Array], pa.Array]]] = {
    debezium.ISO_DATE: lambda column: pc.utf8_slice_codeunits(column, 0, 10),
    debezium.ISO_TIME: lambda column: pc.binary_join_element_wise(_EPOCH, column, _NOTHING),
}
"""What is done to texts before Arrow reads them."""


def meant_leaf(source: ConnectSchema, target: IcebergType, arrow: pa.DataType) -> Leaf | None:
    """Return the conversion into what values mean; None where a column takes what they are, or has them one by one."""
    name = debezium.meaning_of(source)
    if name == debezium.DATE and isinstance(target, DateType):
        return bounded((FIRST_DAY, LAST_DAY), arrow)
    if name in _TICKS and isinstance(target, _TICKS[name][0]):
        return _ticks(*_TICKS[name][1:], _limits(target), arrow)
    if name in _TEXTS and isinstance(target, _TEXTS[name][0]):
        return _texts(
            *_TEXTS[name][1:], _PREPARED.get(name, lambda column: column), bounded(_limits(target), arrow), arrow
        )
    return None


def _limits(target: IcebergType) -> tuple[int, int]:
    if isinstance(target, DateType):
        return FIRST_DAY, LAST_DAY
    return (0, MICROS_PER_DAY - 1) if isinstance(target, TimeType) else (FIRST_MICRO, LAST_MICRO)


def _ticks(factor: int, divisor: int, limits: tuple[int, int], arrow: pa.DataType) -> Leaf:
    within = bounded(limits, arrow)
    first, last = limits[0] // factor, limits[1] // factor

    def convert(column: pa.Array) -> tuple[pa.Array, Inexact]:
        ticks, bad = as_numbers(column), None
        if divisor > 1:
            whole = pc.divide(ticks, divisor)
            bad = rows_of(pc.not_equal(pc.multiply(whole, divisor), ticks))
            ticks = whole
        elif factor > 1:
            bad = beyond(ticks, first, last)
            ticks = pc.multiply(_without(ticks, bad), factor)
        converted, more = within(ticks)
        return converted, either(bad, more)

    return convert


def _texts(
    pattern: str, read_as: pa.DataType, prepare: Callable[[pa.Array], pa.Array], within: Leaf, arrow: pa.DataType
) -> Leaf:
    whole = rf"\A(?:{pattern})\z"

    def convert(column: pa.Array) -> tuple[pa.Array, Inexact]:
        bad = rows_of(pc.invert(pc.match_substring_regex(column, whole)))
        try:
            read = prepare(_without(column, bad)).cast(read_as)
        except pa.ArrowInvalid:  # the 31st of February
            return pa.nulls(len(column), arrow), np.ones(len(column), np.bool_)
        converted, more = within(read)
        return converted, either(bad, more)

    return convert


def _without(column: pa.Array, rows: Inexact) -> pa.Array:
    return column if rows is None else pc.if_else(pa.array(rows), pa.scalar(None, column.type), column)
