"""Orders as records of a JSON Schema, and their decoder."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from floe.schema_registry.exceptions import SchemaMissing
from floe.schema_registry.schema import RegisteredSchema, SchemaReference, SchemaText
from floe_job.convert.json_schema.connect_schema import JsonSchemaOptions
from floe_job.convert.json_schema.decoder import JsonSchemaDecoder
from floe_job.convert.typed.frames import Framing

CONNECT = "org.apache.kafka.connect.data"
DECIMAL = {
    "type": "number",
    "connect.type": "bytes",
    "title": f"{CONNECT}.Decimal",
    "connect.version": 1,
    "connect.parameters": {"scale": "2"},
}
ORDER: dict[str, Any] = {
    "type": "object",
    "title": "Order",
    "properties": {
        "id": {"type": "integer"},
        "note": {"type": ["null", "string"]},
        "state": {"type": "string", "enum": ["NEW", "PAID"]},
        "paid": {"type": "boolean"},
        "price": DECIMAL,
        "tags": {"type": "array", "items": {"type": "string"}},
        "at": {"type": "integer", "connect.type": "int64", "title": f"{CONNECT}.Timestamp"},
        "ratio": {"type": "number"},
        "small": {"type": "integer", "connect.type": "int8"},
        "ship_to": {"$ref": "#/definitions/Address"},
    },
    "definitions": {"Address": {"type": "object", "properties": {"street": {"type": "string", "default": "none"}}}},
}
ID = 7


def framed(value: Any, schema_id: int = ID) -> bytes:
    """Return a value with its frame."""
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return b"\x00" + schema_id.to_bytes(4, "big") + text


def written(number: int) -> dict[str, Any]:
    """Return an order as its producer has it."""
    return {
        "id": number,
        "note": "é" if number % 2 else None,
        "state": "PAID",
        "paid": True,
        "price": base64.b64encode((number * 256).to_bytes(9, signed=True)).decode(),
        "tags": ["a"] * (number % 3),
        "at": number,
        "ratio": number / 4,
        "small": number % 100,
        "ship_to": {"street": "Main"} if number % 5 else {},
    }


def order(number: int) -> bytes:
    """Write an order, with its frame."""
    return framed(written(number))


def read(number: int) -> dict[str, Any]:
    """Return the row that an order is read as."""
    return {
        **written(number),
        "price": Decimal(number * 256).scaleb(-2),
        "at": datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=number),
        "ship_to": {"street": "Main" if number % 5 else "none"},
    }


BAD = (
    b"",
    b"\x01" + order(1)[1:],
    order(1)[:4],
    order(1)[:-1],
    framed(written(1), 8),
    framed({**written(1), "id": None}),
    framed({**written(1), "small": 128}),
    framed({**written(1), "price": "no base64!"}),
    framed({**written(1), "state": 5}),
    framed(b"null"),
)


def registered(schema: Any, *references: tuple[str, Any]) -> RegisteredSchema:
    """Return a JSON Schema with others that it refers to, each a name and a schema."""
    others = ((SchemaReference(name, name, "1"), SchemaText("JSON", json.dumps(one))) for name, one in references)
    return RegisteredSchema(SchemaText("JSON", json.dumps(schema)), tuple(others))


def source(schemas: dict[int, Any]) -> Callable[[int], RegisteredSchema]:
    """Return a registry of schemas by id."""

    def schema_of(schema_id: int) -> RegisteredSchema:
        if schema_id not in schemas:
            problem = f"the registry has no schema {schema_id}"
            raise SchemaMissing(problem, schema_id)
        return registered(schemas[schema_id])

    return schema_of


def decoder(
    schemas: dict[int, Any] | None = None, *, optional: bool = False, flatten_singletons: bool = False
) -> JsonSchemaDecoder:
    """Return a decoder of records framed by an id of four bytes; ``optional``: use.optional.for.nonrequired."""
    options = JsonSchemaOptions(optional, flatten_singletons)
    return JsonSchemaDecoder(Framing.ID_OF_4_BYTES, source(schemas or {ID: ORDER}), options)
