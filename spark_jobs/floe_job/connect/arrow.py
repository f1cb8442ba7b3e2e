"""The Arrow type in which a decoder returns the values of a schema: one for each, whatever the format.

boolean → bool · int8 … int64 → the same · float32, float64 → the same · string → large_string · bytes → large_binary ·
array → large_list · map → map · struct → struct, with the fields in the schema's order

Decimal → decimal128(38, scale) · Date → date32 · Time, time-micros → time64[us] · Timestamp, timestamp-micros →
timestamp[us, UTC] · local-timestamp-millis and -micros → timestamp[us]

Nullability is in the schema: Arrow's fields are all nullable. Defaults are filled in by the decoder where its converter
does so.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from floe_job.connect import logical
from floe_job.connect.schema import ConnectSchema, Kind

MAX_DIGITS: Final = 38

_PLAIN: Final[dict[Kind, pa.DataType]] = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INT8: pa.int8(),
    Kind.INT16: pa.int16(),
    Kind.INT32: pa.int32(),
    Kind.INT64: pa.int64(),
    Kind.FLOAT32: pa.float32(),
    Kind.FLOAT64: pa.float64(),
    Kind.STRING: pa.large_string(),
    Kind.BYTES: pa.large_binary(),
}
_KIND_OF_NAME: Final = {
    logical.DECIMAL: Kind.BYTES,
    logical.DATE: Kind.INT32,
    logical.TIME: Kind.INT32,
    logical.TIMESTAMP: Kind.INT64,
}
_LOGICAL: Final[dict[tuple[Kind, str], pa.DataType]] = {
    (Kind.INT32, logical.DATE): pa.date32(),
    (Kind.INT32, logical.TIME): pa.time64("us"),
    (Kind.INT64, logical.TIMESTAMP): pa.timestamp("us", "UTC"),
    (Kind.INT64, logical.AVRO_TIME_MICROS): pa.time64("us"),
    (Kind.INT64, logical.AVRO_TIMESTAMP_MICROS): pa.timestamp("us", "UTC"),
    (Kind.INT64, logical.AVRO_LOCAL_TIMESTAMP_MILLIS): pa.timestamp("us"),
    (Kind.INT64, logical.AVRO_LOCAL_TIMESTAMP_MICROS): pa.timestamp("us"),
}


def arrow_type(schema: ConnectSchema) -> pa.DataType:
    """Return the Arrow type of a schema's values. Raises ValueError for a decimal whose scale Arrow cannot hold."""
    if schema.kind is Kind.STRUCT:
        return pa.struct([pa.field(name, arrow_type(inner)) for name, inner in schema.fields])
    if schema.kind is Kind.ARRAY:
        return pa.large_list(arrow_type(_inside(schema.element)))
    if schema.kind is Kind.MAP:
        return pa.map_(arrow_type(_inside(schema.key)), arrow_type(_inside(schema.element)))
    if is_decimal(schema):
        return pa.decimal128(MAX_DIGITS, scale_of(schema))
    return _LOGICAL.get((schema.kind, schema.name or ""), _PLAIN[schema.kind])


def logical_problem(schema: ConnectSchema) -> str | None:
    """Return why values cannot be of the logical type of Connect that a schema is named after; None if they can."""
    kind = _KIND_OF_NAME.get(schema.name or "")
    if kind is not None and kind is not schema.kind:
        return f"is named {schema.name!r} and has the type {schema.kind.value}, and not {kind.value}"
    if is_decimal(schema):
        try:
            scale_of(schema)
        except ValueError as error:
            return f"cannot be read: {error}"
    return None


def is_decimal(schema: ConnectSchema) -> bool:
    """Return whether values are decimals."""
    return schema.kind is Kind.BYTES and schema.name == logical.DECIMAL


def scale_of(schema: ConnectSchema) -> int:
    """Return the scale of a decimal. Raises ValueError if it is no whole number from 0 to 38."""
    text = schema.parameter(logical.SCALE) or ""
    if text.isascii() and text.isdigit() and int(text) <= MAX_DIGITS:
        return int(text)
    problem = f"a decimal has the scale {text[:20]!r}: a table's columns have scales from 0 to {MAX_DIGITS}"
    raise ValueError(problem)


def _inside(schema: ConnectSchema | None) -> ConnectSchema:
    if schema is None:
        problem = "an array needs the schema of its elements, and a map those of its keys and values"
        raise ValueError(problem)
    return schema
