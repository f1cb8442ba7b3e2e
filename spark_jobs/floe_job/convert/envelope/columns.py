"""Columns of payloads: what Arrow's JSON parser gets for a schema, and how its result becomes the schema's column.

A schema with maps has none: the parser reads no objects of any keys. Nor has one with a struct without fields, or with arrays
of decimals that are numbers.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floe_job.connect.arrow import arrow_type, is_decimal
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.envelope.leaf_columns import ColumnReader, Convert, leaf_reader
from floe_job.convert.typed.columns import nulls_of
from floe_job.convert.typed.leaves import Inexact, either
from floe_job.convert.typed.python_values import lengths_of


def column_reader(schema: ConnectSchema, *, fill_defaults: bool, numeric: bool) -> ColumnReader | None:
    """Make the reader of a schema's values; None where they are read one by one.

    ``fill_defaults``: what is null gets the default of its schema. ``numeric``: decimals are numbers, and not base64.
    """
    made = _nested(schema, fill_defaults, numeric) if schema.kind in _NESTED else leaf_reader(schema, numeric=numeric)
    if made is None:
        return None
    default = schema.default if fill_defaults and schema.has_default else None
    if default is not None:
        return ColumnReader(made.type, _filled(made.convert, pa.array([default], arrow_type(schema))), made.columns)
    return made if schema.optional else ColumnReader(made.type, _required(made.convert), made.columns)


_NESTED = (Kind.STRUCT, Kind.ARRAY, Kind.MAP)


def _nested(schema: ConnectSchema, fill: bool, numeric: bool) -> ColumnReader | None:
    if schema.kind is Kind.ARRAY:
        return _array(schema, fill, numeric)
    return _struct(schema, fill, numeric) if schema.kind is Kind.STRUCT and schema.fields else None


def _required(convert: Convert) -> Convert:
    def convert_required(column: pa.Array) -> tuple[pa.Array, Inexact]:
        converted, bad = convert(column)
        return converted, either(bad, nulls_of(column))

    return convert_required


def _filled(convert: Convert, default: pa.Array) -> Convert:
    def convert_filled(column: pa.Array) -> tuple[pa.Array, Inexact]:
        converted, bad = convert(column)
        if not column.null_count:
            return converted, bad
        if not pa.types.is_nested(converted.type):
            return pc.fill_null(converted, default[0]), bad
        places = np.arange(len(column))
        places[column.is_null().to_numpy(zero_copy_only=False)] = len(column)
        return pa.concat_arrays([converted, default]).take(pa.array(places)), bad

    return convert_filled


def _struct(schema: ConnectSchema, fill: bool, numeric: bool) -> ColumnReader | None:
    kind = arrow_type(schema)
    fields = [column_reader(inner, fill_defaults=fill, numeric=numeric) for _, inner in schema.fields]
    if any(one is None for one in fields):
        return None
    readers = cast("list[ColumnReader]", fields)
    given = pa.struct([pa.field(name, one.type) for (name, _), one in zip(schema.fields, readers, strict=True)])

    def convert(column: pa.StructArray) -> tuple[pa.Array, Inexact]:
        converted, bad = [], None
        for reader, child in zip(readers, column.flatten(), strict=True):
            found, rows = reader.convert(child)
            converted.append(found)
            bad = either(bad, rows)
        nulls = nulls_of(column)
        if nulls is not None and bad is not None:
            bad = bad & ~nulls
        mask = None if nulls is None else pa.array(nulls)
        return pa.StructArray.from_arrays(converted, fields=list(kind), mask=mask), bad

    return ColumnReader(given, convert, 1 + sum(one.columns for one in readers))


def _array(schema: ConnectSchema, fill: bool, numeric: bool) -> ColumnReader | None:
    kind = arrow_type(schema)
    element = column_reader(cast(ConnectSchema, schema.element), fill_defaults=fill, numeric=numeric)
    if element is None or (numeric and is_decimal(cast(ConnectSchema, schema.element))):
        return None

    def convert(column: pa.ListArray) -> tuple[pa.Array, Inexact]:
        lengths = lengths_of(column)
        values, bad = element.convert(column.flatten())
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        mask = column.is_null() if column.null_count else None
        made = pa.LargeListArray.from_arrays(pa.array(offsets), values, type=kind, mask=mask)
        return made, None if bad is None else _owners(bad, lengths)

    return ColumnReader(pa.list_(pa.field("element", element.type)), convert, 1 + element.columns)


def _owners(bad: Any, lengths: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    found = np.zeros(len(lengths), np.bool_)
    found[np.repeat(np.arange(len(lengths)), lengths)[bad]] = True
    return found
