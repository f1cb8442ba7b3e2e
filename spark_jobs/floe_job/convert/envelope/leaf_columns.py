"""How values without values inside are read by Arrow's JSON parser, and how the result becomes their column.

Rows whose value is not plainly right are marked: they are read one by one, by ``floe_job.convert.envelope.values``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floe_job.connect import logical
from floe_job.connect.arrow import MAX_DIGITS, arrow_type, is_decimal, scale_of
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.envelope.values import DAY_MILLIS, MAX_MILLIS
from floe_job.convert.typed.base64_text import bytes_column, decode_column
from floe_job.convert.typed.leaves import Inexact
from floe_job.convert.typed.unscaled_decimals import decimals

Convert = Callable[[pa.Array], tuple[pa.Array, Inexact]]


@dataclass(frozen=True)
class ColumnReader:
    """``type`` is for the parser; ``convert`` turns its column into the one of the schema, and marks rows.

    ``columns``: how many there are, nested ones included.
    """

    type: pa.DataType
    convert: Convert
    columns: int = 1


def leaf_reader(schema: ConnectSchema, *, numeric: bool) -> ColumnReader:
    """Make the reader of values without values inside. ``numeric``: decimals are numbers, and not base64."""
    kind = arrow_type(schema)
    if is_decimal(schema):
        if numeric:
            # twice the digits: the parser does not check them after it has changed the scale
            return ColumnReader(pa.decimal256(MAX_DIGITS, scale_of(schema)), _numeric_decimals(kind))
        return ColumnReader(pa.large_string(), _decimals(kind))
    if schema.kind is Kind.BYTES:
        return ColumnReader(pa.large_string(), _bytes)
    if schema.name == logical.DATE:
        return ColumnReader(pa.int32(), lambda column: (column.view(kind), None))
    if schema.name == logical.TIME:
        return ColumnReader(pa.int32(), _times(0, DAY_MILLIS - 1, kind))
    if schema.name == logical.TIMESTAMP:
        return ColumnReader(pa.int64(), _times(-MAX_MILLIS, MAX_MILLIS, kind))
    if schema.kind in (Kind.FLOAT32, Kind.FLOAT64):
        return ColumnReader(kind, _finite)
    return ColumnReader(kind, lambda column: (column, None))


def marked(found: pa.Array) -> Inexact:
    """Return the rows for which a column of booleans is true; None for none of them."""
    rows: np.ndarray[Any, Any] = pc.fill_null(found, fill_value=False).to_numpy(zero_copy_only=False)
    return rows if rows.any() else None


def _finite(column: pa.Array) -> tuple[pa.Array, Inexact]:
    """Mark what the parser takes and JSON has not; Java's numbers have no zero below zero."""
    made = pc.add(column, pa.scalar(0.0, column.type))
    if pc.all(pc.is_finite(column)).as_py() is False:
        return made, marked(pc.invert(pc.is_finite(column)))
    return made, None


def _times(first: int, last: int, kind: pa.DataType) -> Convert:
    def convert(column: pa.Array) -> tuple[pa.Array, Inexact]:
        bad: Inexact = None
        ends = pc.min_max(column).as_py()
        if ends["min"] is not None and not first <= ends["min"] <= ends["max"] <= last:
            bad = marked(pc.or_(pc.less(column, first), pc.greater(column, last)))
            column = pc.if_else(pa.array(bad), pa.scalar(0, column.type), column)
        return pc.multiply(column.cast(pa.int64()), pa.scalar(1000, pa.int64())).view(kind), bad

    return convert


def _bytes(column: pa.Array) -> tuple[pa.Array, Inexact]:
    decoded = decode_column(column)
    return bytes_column(decoded, _nulls(column)), decoded.bad if decoded.bad.any() else None


def _decimals(kind: pa.DataType) -> Convert:
    def convert(column: pa.Array) -> tuple[pa.Array, Inexact]:
        data, starts, ends, bad = decode_column(column)
        words = np.ndarray((len(data) - 7,), ">i8", data.data, 0, (1,))
        made, large = decimals(data, words, ends, ends - starts, kind)
        nulls = _nulls(column)
        bad |= starts == ends
        if large is not None:
            bad[large] = True
        if nulls is not None:
            bad &= ~nulls.to_numpy(zero_copy_only=False)
            made = pc.if_else(nulls, pa.scalar(None, kind), made)
        return made, bad if bad.any() else None

    return convert


def _numeric_decimals(kind: pa.DataType) -> Convert:
    limit = pa.scalar(10 ** (MAX_DIGITS - kind.scale), pa.decimal256(76, 0))

    def convert(column: pa.Array) -> tuple[pa.Array, Inexact]:
        bad: Inexact = None
        ends = pc.min_max(column).as_py()
        if ends["min"] is not None and max(abs(ends["min"]), abs(ends["max"])) >= limit.as_py():
            wide = [value is not None and abs(value) >= limit.as_py() for value in column.to_pylist()]
            bad = np.array(wide, np.bool_)
            column = pc.if_else(pa.array(bad), pa.scalar(None, column.type), column)
        return column.cast(kind), bad

    return convert


def _nulls(column: pa.Array) -> pa.Array | None:
    return column.is_null() if column.null_count else None
