"""Orders as Avro records, and their decoder."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from floe.schema_registry.exceptions import SchemaMissing
from floe.schema_registry.schema import RegisteredSchema, SchemaReference, SchemaText
from floe_job.convert.avro.decoder import AvroDecoder
from floe_job.convert.avro.schema import AvroOptions
from floe_job.convert.typed.frames import Framing
from tests.support.avro import varint

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "paid", "type": "boolean"},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": {"type": "map", "values": "int"}},
        {"name": "ratio", "type": "double"},
    ],
}
TEXT = json.dumps(ORDER)

FRAME = bytes([0, 0, 0, 0, 7])


def order(number: int) -> bytes:
    """Write an order, with its frame."""
    return FRAME + b"".join(
        [
            varint(number),
            b"\x02" + varint(2) + "é".encode(),
            b"\x02\x01" + varint(2) + b"\x01\x00",
            varint(2) + varint(1) + b"a" + varint(1) + b"b" + b"\x00",
            varint(1) + varint(1) + b"k" + varint(number) + b"\x00",
            bytes(8),
        ]
    )


def read(number: int) -> dict[str, Any]:
    """Return the row that an order is read as."""
    return {
        "id": number,
        "note": "é",
        "state": "PAID",
        "paid": True,
        "price": Decimal("2.56"),
        "tags": ["a", "b"],
        "counts": [("k", number)],
        "ratio": 0.0,
    }


def registered(text: str, *references: tuple[str, str]) -> RegisteredSchema:
    """Return an Avro schema with others that it refers to, each a name and a text."""
    others = ((SchemaReference(name, name, "1"), SchemaText("AVRO", one)) for name, one in references)
    return RegisteredSchema(SchemaText("AVRO", text), tuple(others))


def source(**texts: Any) -> Callable[[int], RegisteredSchema]:
    """Return a registry of schemas by id."""

    def schema_of(schema_id: int) -> RegisteredSchema:
        if f"s{schema_id}" not in texts:
            problem = f"the registry has no schema {schema_id}"
            raise SchemaMissing(problem, schema_id)
        return registered(json.dumps(texts[f"s{schema_id}"]))

    return schema_of


def decoder(**texts: Any) -> AvroDecoder:
    """Return a decoder of records framed by an id of four bytes."""
    return AvroDecoder(Framing.ID_OF_4_BYTES, source(**(texts or {"s7": ORDER})), AvroOptions())
