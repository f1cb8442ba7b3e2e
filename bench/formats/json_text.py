"""Orders as plain JSON, and the same with the frame of a registered JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from pyiceberg.types import DoubleType, LongType, StringType

from bench.formats.base import CONFLUENT_API, Encoder, Format, Registry, frame
from bench.formats.orders import FIELDS
from floe.schema_registry.schema import SchemaText

_TEXT: Final = {"type": "string"}
_OR_NULL: Final = [{"type": "null"}, _TEXT]
_ADDRESS: Final = {"type": "object", "properties": {"street": _TEXT, "city": _TEXT, "zip": {"oneOf": _OR_NULL}}}
SCHEMA: Final[dict[str, Any]] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Order",
    "type": "object",
    "properties": {
        "order_id": _TEXT,
        "customer_id": {"type": "integer"},
        "store_id": {"type": "integer"},
        "channel": _TEXT,
        "note": {"oneOf": _OR_NULL},
        "discount": {"oneOf": [{"type": "null"}, {"type": "number"}]},
        "total": {"type": "number"},
        "ordered_at": _TEXT,
        "delivered_at": {"oneOf": _OR_NULL},
        "is_gift": {"type": "boolean"},
        "address": _ADDRESS,
        "toppings": {"type": "array", "items": _TEXT},
    },
}


def _encode(order: Mapping[str, Any]) -> bytes:
    times = {name: _time(order[name]) for name in ("ordered_at", "delivered_at")}
    return json.dumps({**order, "total": float(order["total"]), **times}, separators=(",", ":")).encode()


def _time(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")


def _framed(schema_id: int) -> Encoder:
    head = frame(schema_id)
    return lambda order: head + _encode(order)


def _registered(registry: Registry) -> Mapping[str, str]:
    return {
        "value.converter": "io.confluent.connect.json.JsonSchemaConverter",
        "value.converter.schema.registry.url": f"{registry}{CONFLUENT_API}",
    }


def _plain(_: Registry) -> Mapping[str, str]:
    return {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }


_KINDS: Final = {
    "store_id": LongType(),
    "total": DoubleType(),
    "ordered_at": StringType(),
    "delivered_at": StringType(),
}
_COLUMNS: Final = tuple((name, _KINDS.get(name, kind)) for name, kind in FIELDS)
"""What the table gets for such records by itself: JSON has neither decimals nor times."""

PLAIN: Final = Format("json", None, lambda _: _encode, _plain, fields=_COLUMNS)
TYPED: Final = Format("typed", None, lambda _: _encode, _plain)
"""The same JSON for a table whose columns have types that JSON lacks: decimals, times, narrower integers."""

JSON_SCHEMA: Final = Format(
    "json-schema", SchemaText("JSON", json.dumps(SCHEMA)), _framed, _registered, fields=_COLUMNS
)
