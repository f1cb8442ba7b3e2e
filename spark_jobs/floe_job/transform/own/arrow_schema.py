"""The schema of structs that a transform of the user returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pyarrow as pa

from floe_job.connect import logical
from floe_job.connect.arrow import MAX_DIGITS, arrow_type
from floe_job.connect.schema import ConnectSchema, Kind, array, map_of

MAX_DEPTH: Final = 64

_types = pa.types
_PLAIN: Final[tuple[tuple[Callable[[pa.DataType], bool], Kind, str | None], ...]] = (
    (_types.is_boolean, Kind.BOOLEAN, None),
    (_types.is_int8, Kind.INT8, None),
    (_types.is_int16, Kind.INT16, None),
    (_types.is_int32, Kind.INT32, None),
    (_types.is_int64, Kind.INT64, None),
    (_types.is_float32, Kind.FLOAT32, None),
    (_types.is_float64, Kind.FLOAT64, None),
    (_types.is_string, Kind.STRING, None),
    (_types.is_large_string, Kind.STRING, None),
    (_types.is_binary, Kind.BYTES, None),
    (_types.is_large_binary, Kind.BYTES, None),
    (_types.is_date32, Kind.INT32, logical.DATE),
)


def schema_of(kind: pa.DataType, known: ConnectSchema | None, path: str = "value", depth: int = 0) -> ConnectSchema:
    """Return the schema of an Arrow type; what is as in the ``known`` schema of the values keeps that, but may be null.

    Raises ValueError for a type that no schema has, naming the field.
    """
    if known is not None and kind == arrow_type(known):
        return _optional(known)
    if depth > MAX_DEPTH:
        problem = f"{path[:100]} is nested deeper than {MAX_DEPTH}"
        raise ValueError(problem)
    if _types.is_struct(kind):
        return _struct(kind, known, path, depth)
    if _types.is_list(kind) or _types.is_large_list(kind):
        element = known.element if known is not None and known.kind is Kind.ARRAY else None
        return array(schema_of(kind.value_type, element, f"{path}[]", depth + 1), optional=True)
    if _types.is_map(kind):
        key, item = (known.key, known.element) if known is not None and known.kind is Kind.MAP else (None, None)
        keys = schema_of(kind.key_type, key, f"{path} (keys)", depth + 1)
        return map_of(keys, schema_of(kind.item_type, item, f"{path} (values)", depth + 1), optional=True)
    return _leaf(kind, path)


def _optional(schema: ConnectSchema) -> ConnectSchema:
    """Return a schema of which all may be null, but the keys of maps."""
    fields = tuple((name, _optional(inner)) for name, inner in schema.fields)
    element = None if schema.element is None else _optional(schema.element)
    return replace(schema, optional=True, fields=fields, element=element)


def _struct(kind: pa.StructType, known: ConnectSchema | None, path: str, depth: int) -> ConnectSchema:
    names = [field.name for field in kind]
    if len(set(names)) < len(names):
        problem = f"{path} has two fields of one name"
        raise ValueError(problem)
    inner = dict(known.fields) if known is not None and known.kind is Kind.STRUCT else {}
    fields = tuple(
        (field.name, schema_of(field.type, inner.get(field.name), f"{path}.{field.name}", depth + 1)) for field in kind
    )
    if known is not None and known.kind is Kind.STRUCT:
        return replace(known, optional=True, fields=fields)
    return ConnectSchema(Kind.STRUCT, optional=True, fields=fields)


def _leaf(kind: pa.DataType, path: str) -> ConnectSchema:
    found = next(((of, name) for holds, of, name in _PLAIN if holds(kind)), None)
    if found is not None:
        return ConnectSchema(found[0], optional=True, name=found[1])
    if _types.is_decimal128(kind) and 0 <= kind.scale <= MAX_DIGITS:
        return ConnectSchema(Kind.BYTES, True, logical.DECIMAL, parameters=((logical.SCALE, str(kind.scale)),))
    if _types.is_time64(kind) and kind.unit == "us":
        return ConnectSchema(Kind.INT64, True, logical.AVRO_TIME_MICROS)
    if _types.is_timestamp(kind) and kind.unit == "us" and kind.tz in (None, "UTC"):
        name = logical.AVRO_TIMESTAMP_MICROS if kind.tz else logical.AVRO_LOCAL_TIMESTAMP_MICROS
        return ConnectSchema(Kind.INT64, True, name)
    problem = (
        f"{path[:100]} has the Arrow type {str(kind)[:100]}, which no schema has: cast it, timestamps to timestamp[us, "
        "UTC], times to time64[us], unsigned integers to int64"
    )
    raise ValueError(problem)
