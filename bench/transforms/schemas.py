"""The schemas of rows and of their change events, as Debezium's connectors write them: for Avro, and as Connect's envelopes.

Times are Connect's (``time.precision.mode=connect``), and prices doubles (``decimal.handling.mode=double``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pyiceberg.types import (
    BooleanType,
    DoubleType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestamptzType,
)

from bench.transforms.rows import COLUMNS, EVENT, OPTIONAL, SOURCE

_NAMESPACE: Final = "shop.public.orders"
_ROW, _ENVELOPE, _SOURCE = "Value", "Envelope", "Source"
_TIMESTAMP: Final = "org.apache.kafka.connect.data.Timestamp"

_AVRO: Final[dict[type[IcebergType], Any]] = {
    BooleanType: "boolean",
    IntegerType: "int",
    LongType: "long",
    DoubleType: "double",
    StringType: "string",
    TimestamptzType: {
        "type": "long",
        "connect.version": 1,
        "connect.name": _TIMESTAMP,
        "logicalType": "timestamp-millis",
    },
}
_CONNECT: Final[dict[type[IcebergType], dict[str, Any]]] = {
    BooleanType: {"type": "boolean"},
    IntegerType: {"type": "int32"},
    LongType: {"type": "int64"},
    DoubleType: {"type": "double"},
    StringType: {"type": "string"},
    TimestamptzType: {"type": "int64", "name": _TIMESTAMP, "version": 1},
}


def avro_schema(*, is_change: bool) -> dict[str, Any]:
    """Return the Avro schema of rows, or of change events."""
    known: set[str] = set()
    return _avro_record(EVENT, _ENVELOPE, known) if is_change else _avro_record(COLUMNS, _ROW, known)


def connect_schema(*, is_change: bool) -> dict[str, Any]:
    """Return the schema of rows, or of change events, as Kafka's JsonConverter writes it."""
    fields, name = (EVENT, _ENVELOPE) if is_change else (COLUMNS, _ROW)
    return {**_connect_struct(fields, name), "optional": False}


def _avro_record(fields: Mapping[str, IcebergType], name: str, known: set[str]) -> dict[str, Any]:
    known.add(name)
    found: list[dict[str, Any]] = []
    for field, kind in fields.items():
        written = _avro_type(field, kind, known)
        null = {"type": ["null", written], "default": None}
        found.append({"name": field, **(null if field in OPTIONAL else {"type": written})})
    return {"type": "record", "name": name, "namespace": _NAMESPACE, "fields": found}


def _avro_type(field: str, kind: IcebergType, known: set[str]) -> Any:
    if not isinstance(kind, StructType):
        return _AVRO[type(kind)]
    name, fields = _inner(field)
    # a schema names a record in full once
    return f"{_NAMESPACE}.{name}" if name in known else _avro_record(fields, name, known)


def _connect_struct(fields: Mapping[str, IcebergType], name: str) -> dict[str, Any]:
    found = []
    for field, kind in fields.items():
        if isinstance(kind, StructType):
            inner, inner_fields = _inner(field)
            written = _connect_struct(inner_fields, inner)
        else:
            written = _CONNECT[type(kind)]
        found.append({**written, "optional": field in OPTIONAL, "field": field})
    return {"type": "struct", "fields": found, "name": f"{_NAMESPACE}.{name}", "version": 1}


def _inner(field: str) -> tuple[str, Mapping[str, IcebergType]]:
    """Return the name and the fields of a struct in an event."""
    return (_SOURCE, SOURCE) if field == "source" else (_ROW, COLUMNS)
