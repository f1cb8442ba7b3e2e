"""How columns without columns inside are read by Arrow's JSON parser, and how the result is converted.

A column reader is the type that the parser gets, and the conversion from there to the column. The conversion either
returns exactly what ``floe_job.types`` returns for the same values, or raises NotExact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.types import (
    BooleanType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
)

from floe.parquet.arrow_shapes import reshape, storage_type
from floe_job.convert.json.fallbacks import NotExact
from floe_job.exceptions import Unconvertible
from floe_job.types import Converter, converter
from floe_job.types.time_texts import TIMES, times_of_texts

_NEGATIVE_ZERO = -(2**63)


@dataclass(frozen=True)
class ColumnReader:
    """``type`` is for the parser; ``convert_column`` turns its array into the column's."""

    type: pa.DataType
    convert_column: Callable[[pa.Array], pa.Array]


def leaf_reader(target: IcebergType, arrow: pa.DataType) -> ColumnReader:
    """Make the reader of a column that has no columns inside."""
    if isinstance(target, DoubleType | FloatType):
        return ColumnReader(pa.float64(), _floats(arrow))
    if isinstance(target, BooleanType | IntegerType | LongType | StringType):
        return ColumnReader(arrow, _same)
    if isinstance(target, DecimalType):
        return _decimal_reader(target, arrow)
    return ColumnReader(pa.large_string(), _texts(target, arrow))


def map_reader(arrow: pa.DataType) -> ColumnReader:
    """Make the reader of a map column. It takes nulls only: the parser refuses an object, and the exact path reads it."""

    def convert_column(array: pa.Array) -> pa.Array:
        if array.null_count < len(array):
            raise NotExact(pc.index(pc.is_valid(array), True).as_py())
        return pa.nulls(len(array), arrow)

    return ColumnReader(pa.null(), convert_column)


def _same(array: pa.Array) -> pa.Array:
    return array


def _decimal_reader(target: DecimalType, arrow: pa.DataType) -> ColumnReader:
    """Make the reader of a decimal column, which refuses values of too many digits.

    The parser counts only the digits of the text: 123.4 has four, and is accepted as a decimal(4,2). Then it rescales the
    value without an overflow check, and a decimal(38,10) may not fit into 128 bits.
    """
    room = pa.decimal256(target.precision, target.scale) if target.precision + target.scale > 38 else arrow
    limit = Decimal(10) ** (target.precision - target.scale)

    def convert_column(array: pa.Array) -> pa.Array:
        least, greatest = pc.min_max(array).as_py().values()
        if least is not None and not -limit < least <= greatest < limit:
            raise NotExact
        return array if room is arrow else array.cast(arrow)

    return ColumnReader(room, convert_column)


def _floats(arrow: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    def convert_column(array: pa.Array) -> pa.Array:
        # A negative zero may have been the integer -0, which is 0.0.
        if pc.any(pc.equal(array.view(pa.int64()), _NEGATIVE_ZERO)).as_py():
            raise NotExact
        # By way of a double, as Java does: straight to a float rounds differently.
        floats = array if arrow.equals(array.type) else pc.cast(array, arrow, safe=False)
        if pc.all(pc.is_finite(floats)).as_py() is False:
            raise NotExact
        return floats

    return convert_column


def _texts(target: IcebergType, arrow: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """Convert strings: in bulk where the form is plain, else one by one with the exact path's own converter."""
    convert = converter(target)
    storage = storage_type(arrow)

    def convert_column(array: pa.Array) -> pa.Array:
        if array.null_count == len(array):
            return pa.nulls(len(array), arrow)
        if isinstance(target, TIMES):
            times, left_out = times_of_texts(array, target, arrow)
            if left_out is None:
                return times
        return _one_by_one(array, convert, storage, arrow)

    return convert_column


def _one_by_one(array: pa.Array, convert: Converter, storage: pa.DataType, arrow: pa.DataType) -> pa.Array:
    converted = []
    for row, text in enumerate(array.to_pylist()):
        try:
            converted.append(None if text is None else convert(text))
        except Unconvertible:
            raise NotExact(row) from None
    return reshape(pa.array(converted, storage), arrow)
