"""JSON with the schema in each record, as Kafka's JsonConverter writes it with ``schemas.enable``."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

from bench.formats.base import Encoder, Format, Registry
from bench.formats.orders import PRECISION, SCALE
from floe_job.convert.envelope.decoder import EnvelopeDecoder, EnvelopeOptions

_DATA: Final = "org.apache.kafka.connect.data"


def _field(field_name: str, kind: str, /, **more: Any) -> dict[str, Any]:
    return {"type": kind, "optional": False, **more, "field": field_name}


def _timestamp(field_name: str, /, **more: Any) -> dict[str, Any]:
    return _field(field_name, "int64", name=f"{_DATA}.Timestamp", version=1, **more)


_DECIMAL: Final = {
    "name": f"{_DATA}.Decimal",
    "version": 1,
    "parameters": {"scale": str(SCALE), "connect.decimal.precision": str(PRECISION)},
}
_ADDRESS: Final = [_field("street", "string"), _field("city", "string"), _field("zip", "string", optional=True)]
SCHEMA: Final[dict[str, Any]] = {
    "type": "struct",
    "fields": [
        _field("order_id", "string"),
        _field("customer_id", "int64"),
        _field("store_id", "int32"),
        _field("channel", "string"),
        _field("note", "string", optional=True),
        _field("discount", "double", optional=True),
        _field("total", "bytes", **_DECIMAL),
        _timestamp("ordered_at"),
        _timestamp("delivered_at", optional=True),
        _field("is_gift", "boolean"),
        _field("address", "struct", fields=_ADDRESS),
        _field("toppings", "array", items={"type": "string", "optional": False}),
    ],
    "optional": False,
    "name": "bench.Order",
}


def _encoder(_: int) -> Encoder:
    head = json.dumps({"schema": SCHEMA, "payload": None}, separators=(",", ":")).removesuffix("null}")

    def encode(order: dict[str, Any]) -> bytes:
        number = int(order["total"].scaleb(SCALE))
        nbytes = number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
        payload = {**order, "total": base64.b64encode(nbytes).decode()}
        return f"{head}{json.dumps(payload, separators=(',', ':'))}}}".encode()

    return encode


def _converter(_: Registry) -> Mapping[str, str]:
    return {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "true",
    }


ENVELOPE: Final = Format("envelope", None, _encoder, _converter, lambda _: EnvelopeDecoder(EnvelopeOptions()))
