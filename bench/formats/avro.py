"""Avro, with schemas in a registry, read by Apicurio's converter."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any, Final

from bench.formats.base import Encoder, Format, Registry, frame
from bench.formats.orders import CHANNELS, PRECISION, SCALE
from floe.schema_registry.schema import SchemaText
from floe_job.convert.avro.decoder import AvroDecoder
from floe_job.convert.avro.schema import AvroOptions
from floe_job.convert.typed.frames import Framing
from floe_job.convert.typed.schema_source import SchemaSource

_TIMESTAMP: Final = {"type": "long", "logicalType": "timestamp-millis"}
_ADDRESS: Final = {
    "type": "record",
    "name": "Address",
    "fields": [
        {"name": "street", "type": "string"},
        {"name": "city", "type": "string"},
        {"name": "zip", "type": ["null", "string"], "default": None},
    ],
}
SCHEMA: Final[dict[str, Any]] = {
    "type": "record",
    "name": "Order",
    "namespace": "bench",
    "fields": [
        {"name": "order_id", "type": "string"},
        {"name": "customer_id", "type": "long"},
        {"name": "store_id", "type": "int"},
        {"name": "channel", "type": {"type": "enum", "name": "Channel", "symbols": list(CHANNELS)}},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "discount", "type": ["null", "double"], "default": None},
        {
            "name": "total",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": PRECISION, "scale": SCALE},
        },
        {"name": "ordered_at", "type": _TIMESTAMP},
        {"name": "delivered_at", "type": ["null", _TIMESTAMP], "default": None},
        {"name": "is_gift", "type": "boolean"},
        {"name": "address", "type": _ADDRESS},
        {"name": "toppings", "type": {"type": "array", "items": "string"}},
    ],
}


def _encoder(schema_id: int) -> Encoder:
    from fastavro import parse_schema, schemaless_writer

    head, schema = frame(schema_id), parse_schema(SCHEMA)

    def encode(order: dict[str, Any]) -> bytes:
        datum = io.BytesIO()
        schemaless_writer(datum, schema, order)
        return head + datum.getvalue()

    return encode


def _converter(registry: Registry) -> Mapping[str, str]:
    return {
        "value.converter": "io.apicurio.registry.utils.converter.AvroConverter",
        "value.converter.apicurio.registry.url": f"{registry}/apis/registry/v2",
        "value.converter.apicurio.registry.as-confluent": "true",
        "value.converter.apicurio.registry.use-id": "contentId",
        "value.converter.apicurio.registry.headers.enabled": "false",
    }


def _decoder(schema_of: SchemaSource) -> AvroDecoder:
    return AvroDecoder(Framing.ID_OF_4_BYTES, schema_of, AvroOptions())


AVRO: Final = Format("avro", SchemaText("AVRO", json.dumps(SCHEMA)), _encoder, _converter, _decoder)
