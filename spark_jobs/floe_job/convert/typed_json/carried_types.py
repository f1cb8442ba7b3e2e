"""The types in which values come from JSON, before the types that JSON lacks are made of them.

boolean → bool · int8, int16, int32 → int32 · int64 → int64 · float32, float64 → double · string → large_string · bytes →
large_string, in base64 · Decimal → the same, or decimal128 · array, map, struct → the same of such types
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, auto
from itertools import count
from typing import Any, Final, cast

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BooleanType,
    DecimalType,
    DoubleType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
)

from floe_job.connect.arrow import MAX_DIGITS, is_decimal, scale_of
from floe_job.connect.schema import ConnectSchema, Kind


class DecimalForm(Enum):
    """How decimals are written."""

    TEXT = auto()
    """Their unscaled value in base64 (``decimal.format=BASE64``)."""
    NUMBER = auto()
    """As numbers (``decimal.format=NUMERIC``)."""


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ARROW: Final = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INT8: pa.int32(),
    Kind.INT16: pa.int32(),
    Kind.INT32: pa.int32(),
    Kind.INT64: pa.int64(),
    Kind.FLOAT32: pa.float64(),
    Kind.FLOAT64: pa.float64(),
    Kind.STRING: pa.large_string(),
    Kind.BYTES: pa.large_string(),
}
_ICEBERG: Final[dict[Kind, IcebergType]] = {
    Kind.BOOLEAN: BooleanType(),
    Kind.INT8: IntegerType(),
    Kind.INT16: IntegerType(),
    Kind.INT32: IntegerType(),
    Kind.INT64: LongType(),
    Kind.FLOAT32: DoubleType(),
    Kind.FLOAT64: DoubleType(),
    Kind.STRING: StringType(),
    Kind.BYTES: StringType(),
}


def carried_type(schema: ConnectSchema) -> pa.DataType:
    """Return the type of values that are read one by one; decimals are texts there."""
    if schema.kind is Kind.STRUCT:
        return pa.struct([pa.field(name, carried_type(inner)) for name, inner in schema.fields])
    if schema.kind is Kind.ARRAY:
        return pa.large_list(carried_type(cast(ConnectSchema, schema.element)))
    if schema.kind is Kind.MAP:
        return pa.map_(carried_type(cast(ConnectSchema, schema.key)), carried_type(cast(ConnectSchema, schema.element)))
    return _ARROW[schema.kind]


def carried_value(schema: ConnectSchema, value: Any, decimals: DecimalForm) -> Any:
    """Return a default of a schema as the values that are read are."""
    if value is None:
        return None
    if schema.kind is Kind.STRUCT:
        return {name: carried_value(inner, value[name], decimals) for name, inner in schema.fields}
    if schema.kind is Kind.ARRAY:
        return [carried_value(cast(ConnectSchema, schema.element), one, decimals) for one in value]
    if schema.kind is Kind.MAP:
        key, element = cast(ConnectSchema, schema.key), cast(ConnectSchema, schema.element)
        return [(carried_value(key, name, decimals), carried_value(element, one, decimals)) for name, one in value]
    if isinstance(value, Decimal):
        if decimals is DecimalForm.NUMBER:
            return value
        unscaled = int(value.scaleb(scale_of(schema)))
        return base64.b64encode(unscaled.to_bytes(17, signed=True)).decode()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, date | time):
        return _number_of(value)
    return value


def _number_of(value: date | time) -> int:
    """Return days, or milliseconds since midnight or since 1970."""
    if isinstance(value, datetime):
        return (value - _EPOCH) // timedelta(milliseconds=1)
    if isinstance(value, date):
        return (value - _EPOCH.date()).days
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000


def carried_columns(schema: ConnectSchema, forms: JsonForms, decimals: DecimalForm) -> Schema | None:
    """Return the columns that the parser reads; None for values that are read one by one.

    Those are no structs, or have maps or unions.
    """
    if not _is_columnar(schema, forms) or schema.kind is not Kind.STRUCT:
        return None
    made = cast(StructType, _iceberg(schema, decimals, count(1)))
    try:
        return Schema(*made.fields)
    except ValueError:  # a name with a dot in it is that of a field in a struct
        return None


def children(schema: ConnectSchema) -> Iterator[ConnectSchema]:
    """Yield the schemas directly inside of one."""
    yield from (inner for _, inner in schema.fields)
    yield from (inner for inner in (schema.key, schema.element) if inner is not None)


def _is_columnar(schema: ConnectSchema, forms: JsonForms) -> bool:
    is_union = forms.union is not None and schema.name == forms.union
    if schema.kind is Kind.MAP or (schema.kind is Kind.STRUCT and (is_union or not schema.fields)):
        return False
    return all(_is_columnar(inner, forms) for inner in children(schema))


def _iceberg(schema: ConnectSchema, decimals: DecimalForm, ids: Iterator[int]) -> IcebergType:
    if schema.kind is Kind.STRUCT:
        fields = [(next(ids), name, _iceberg(inner, decimals, ids)) for name, inner in schema.fields]
        return StructType(*(NestedField(i, name, kind, required=False) for i, name, kind in fields))
    if schema.kind is Kind.ARRAY:
        element = _iceberg(cast(ConnectSchema, schema.element), decimals, ids)
        return ListType(next(ids), element, element_required=False)
    if is_decimal(schema) and decimals is DecimalForm.NUMBER:
        return DecimalType(MAX_DIGITS, scale_of(schema))
    return _ICEBERG[schema.kind]


# How a format writes in JSON what has several forms.


@dataclass(frozen=True)
class JsonForms:
    """The forms of one format.

    ``absent_is_null``: a field that is not there is null, even where its schema requires a value.
    ``entries_are_objects``: maps whose keys are no strings are arrays of objects with ``key`` and ``value``, else of arrays.
    ``union``: the name of structs that are a union: the value is that of one of the fields; None where there are no unions.
    """

    absent_is_null: bool
    entries_are_objects: bool
    union: str | None = None
