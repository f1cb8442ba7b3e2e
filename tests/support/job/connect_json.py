"""Schemas and values of Connect as JSON, the way that the Java programs of the tests print them."""

from __future__ import annotations

import json
import struct
from datetime import UTC, date, datetime, time
from typing import Any

from floe_job.connect import logical
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.types.temporal import MILLIS_PER_DAY
from floe_job.types.typed_values import Day, DayTime, Meant, Moment

AVRO_NAMES = frozenset(value for name, value in vars(logical).items() if name.startswith("AVRO_"))
"""Names that Connect has not: it reads these types as plain longs and texts."""

_NAMES = {Kind.FLOAT32: "float32", Kind.FLOAT64: "float64"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def schema_json(schema: ConnectSchema) -> dict[str, Any]:
    """Return a schema as JSON."""
    found: dict[str, Any] = {
        "type": _NAMES.get(schema.kind, schema.kind.value),
        "optional": schema.optional,
        "name": None if schema.name in AVRO_NAMES else schema.name,
        "version": schema.version,
        "parameters": dict(schema.parameters),
    }
    if schema.has_default:
        found["default"] = value_json(schema, schema.default)
    if schema.kind is Kind.STRUCT:
        found["fields"] = [[name, schema_json(one)] for name, one in schema.fields]
    if schema.key is not None:
        found["key"] = schema_json(schema.key)
    if schema.element is not None:
        found["element"] = schema_json(schema.element)
    return found


def value_json(schema: ConnectSchema, value: Any) -> Any:
    """Return a value as JSON: numbers as text, bytes and texts as hex, floats as their bits, entries of maps sorted.

    ``value``: as Arrow gives it, or an object of ``floe_job.types.typed_values``.
    """
    if isinstance(value, Meant):
        value = value.raw
    if value is None:
        return "null"
    if schema.kind is Kind.ARRAY:
        assert schema.element is not None
        return [value_json(schema.element, one) for one in value]
    if schema.kind is Kind.STRUCT:
        return {name: value_json(one, value[name]) for name, one in schema.fields}
    if schema.kind is Kind.MAP:
        assert schema.key is not None
        assert schema.element is not None
        entries = value.items() if isinstance(value, dict) else value
        pairs = [(value_json(schema.key, key), value_json(schema.element, one)) for key, one in entries]
        return sorted(
            ":".join(json.dumps(part, separators=(",", ":"), ensure_ascii=False) for part in pair) for pair in pairs
        )
    return _text(schema, value)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _text(schema: ConnectSchema, value: Any) -> str:
    if isinstance(value, datetime | date | time):
        micros = _micros(value)
        if schema.name in (logical.DATE, logical.TIME, logical.TIMESTAMP):
            return f"ms {micros // 1000}"
        return str(micros // 1000 if schema.name == logical.AVRO_LOCAL_TIMESTAMP_MILLIS else micros)
    if isinstance(value, DayTime | Moment):
        return f"ms {value.micros // 1000}" if value.raw is None else str(value.raw)
    if isinstance(value, Day):
        return f"ms {value.days * MILLIS_PER_DAY}"
    if isinstance(value, bytes | str):
        return (value.encode() if isinstance(value, str) else value).hex()
    if isinstance(value, bool):
        return "true" if value else "false"
    if schema.kind is Kind.FLOAT32:
        return struct.pack(">f", value).hex()
    return struct.pack(">d", value).hex() if schema.kind is Kind.FLOAT64 else str(value)


def _micros(value: datetime | date | time) -> int:
    if isinstance(value, time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day, tzinfo=UTC)
    since = moment.replace(tzinfo=UTC) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
