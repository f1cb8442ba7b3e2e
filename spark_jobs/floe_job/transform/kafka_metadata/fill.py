"""Arrays of one Arrow type for one column type of a table: whole arrays where possible, else value by value.

The target type decides, and ``floe_job.types.coercion.converter`` is the rule: an operation on a whole array returns what
the converter returns for each of its values. A value that does not fit refuses its row.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.types import (
    BinaryType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
)

from floe.parquet.arrow_shapes import reshape, storage_type
from floe_job.exceptions import Unconvertible
from floe_job.types import Converter, converter

LONG_DIGITS = 19


@dataclass(frozen=True)
class MetadataPlace:
    """A place in the table: its Iceberg type, its Arrow type, and its path for messages."""

    type: IcebergType
    arrow: pa.DataType
    path: tuple[str, ...]
    required: bool

    @classmethod
    def of(cls, column: NestedField, arrow: pa.Field, *above: str) -> MetadataPlace:
        """Make the field of a column; ``above`` names what it is inside of."""
        return cls(column.field_type, arrow.type, (*above, column.name), column.required)

    def reason(self, error: Unconvertible) -> str:
        """Return why a row is refused, with the full name of the column."""
        for name in reversed(self.path):
            error.inside(name)
        return error.reason

    @property
    def null_reason(self) -> str:
        return self.reason(Unconvertible("null in a required column"))

    def finish(self, array: pa.Array) -> MetadataColumn:
        """Make the column of an array, whose nulls refuse their rows if the field is required."""
        if not self.required or not array.null_count:
            return MetadataColumn(array)
        return MetadataColumn(None, dict.fromkeys(pc.indices_nonzero(pc.is_null(array)).to_pylist(), self.null_reason))


@dataclass(frozen=True)
class MetadataColumn:
    """An array, or none; and the refused rows with the reasons."""

    array: pa.Array | None
    refused: Mapping[int, str] = field(default_factory=dict)


def convert_each(slot: MetadataPlace, convert: Converter, values: Iterable[Any]) -> MetadataColumn:
    """Convert value by value; null stays null, where that is allowed."""
    refused: dict[int, str] = {}
    converted: list[Any] = []
    for index, value in enumerate(values):
        if value is None:
            converted.append(None)
            if slot.required:
                refused[index] = slot.null_reason
            continue
        try:
            converted.append(convert(value))
        except Unconvertible as error:
            refused[index] = slot.reason(error)
    if refused:
        return MetadataColumn(None, refused)
    return MetadataColumn(reshape(pa.array(converted, storage_type(slot.arrow)), slot.arrow))


def nulls(slot: MetadataPlace) -> Callable[[int], MetadataColumn]:
    """Compile the filler of a column without a source. It takes the number of rows."""
    return lambda count: slot.finish(pa.nulls(count, slot.arrow))


def constants(slot: MetadataPlace) -> Callable[[Any, int], MetadataColumn]:
    """Compile the filler of a column with one value, converted once and repeated. It takes value and number of rows."""
    convert = converter(slot.type)

    def fill(value: Any, count: int) -> MetadataColumn:
        one = convert_each(slot, convert, [value]) if count else MetadataColumn(pa.nulls(0, slot.arrow))
        if one.array is None:
            return MetadataColumn(None, dict.fromkeys(range(count), one.refused[0]))
        return MetadataColumn(one.array.take(pa.repeat(pa.scalar(0, pa.int64()), count)))

    return fill


def longs(slot: MetadataPlace) -> Callable[[pa.Array], MetadataColumn]:
    """Compile the filler of a column from an int64 array."""
    convert = converter(slot.type)
    cast = next((cast for kind, cast in _CASTS if isinstance(slot.type, kind)), None)

    def fill(values: pa.Array) -> MetadataColumn:
        if cast is None or not _extremes_fit(convert, values):
            return convert_each(slot, convert, values.to_pylist())
        return slot.finish(cast(values, slot.arrow))

    return fill


def _extremes_fit(convert: Converter, values: pa.Array) -> bool:
    """Return whether all values convert: each of ``_CASTS`` refuses the values outside of a range."""
    try:
        for extreme in pc.min_max(values).values():
            if extreme.is_valid:
                convert(extreme.as_py())
    except Unconvertible:
        return False
    return True


def _to_decimal(values: pa.Array, arrow: pa.DataType) -> pa.Array:
    return values.cast(pa.decimal128(LONG_DIGITS, 0)).cast(arrow)


def _to_floating(values: pa.Array, arrow: pa.DataType) -> pa.Array:
    # also into float by way of double, as Python's numbers are doubles
    return values.cast(pa.float64(), safe=False).cast(arrow, safe=False)


def _to_moment(millis: pa.Array, arrow: pa.DataType) -> pa.Array:
    return pc.multiply(millis, 1000).cast(arrow)


def _to_natural(values: pa.Array, arrow: pa.DataType) -> pa.Array:
    return values.cast(arrow)


_CASTS: tuple[tuple[type[IcebergType], Callable[[pa.Array, pa.DataType], pa.Array]], ...] = (
    (LongType, _to_natural),
    (IntegerType, _to_natural),
    (StringType, _to_natural),
    (TimestampType, _to_moment),
    (TimestamptzType, _to_moment),
    (DoubleType, _to_floating),
    (FloatType, _to_floating),
    (DecimalType, _to_decimal),
)


# Bytes of record keys and headers, whose format is not declared, into columns.


def nbytes(slot: MetadataPlace) -> Callable[[pa.Array], MetadataColumn]:
    """Compile the filler of a column from a large_binary array.

    A binary or fixed column takes the bytes as they are. Any other takes their text, see ``texts``.
    """
    if isinstance(slot.type, BinaryType):
        return lambda data: slot.finish(data.cast(slot.arrow))
    if isinstance(slot.type, StringType):
        return lambda data: slot.finish(texts(data).cast(slot.arrow))
    if isinstance(slot.type, FixedType):
        exact = _exact(len(slot.type))
        return lambda data: convert_each(slot, exact, data.to_pylist())
    convert = converter(slot.type)
    return lambda data: convert_each(slot, convert, texts(data).to_pylist())


def texts(data: pa.Array) -> pa.Array:
    """Read a large_binary array as large_string: UTF-8, else base64, so that no byte is lost and no record refused."""
    try:
        return data.cast(pa.large_string())
    except pa.ArrowInvalid:
        return pa.array([None if nbytes is None else text_of(nbytes) for nbytes in data.to_pylist()], pa.large_string())


def text_of(data: bytes) -> str:
    """Read bytes as UTF-8, or else write them as base64."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return base64.b64encode(data).decode()


def _exact(length: int) -> Callable[[bytes], bytes]:
    def convert(data: bytes) -> bytes:
        if len(data) != length:
            problem = f"cannot convert {len(data)} bytes to fixed[{length}]"
            raise Unconvertible(problem)
        return data

    return convert
