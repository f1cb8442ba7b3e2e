"""The demo's orders in Avro: the same pizzas with a price, a list of toppings and a point in time."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from stack.orders import orders
from stack.subjects import register

TOPIC = "completed-pizzas-avro"
SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "namespace": "floe.demo",
    "fields": [
        {"name": "order_id", "type": "string"},
        {"name": "store_id", "type": "int"},
        {"name": "sauce", "type": ["null", "string"], "default": None},
        {"name": "cheese", "type": ["null", "string"], "default": None},
        {"name": "toppings", "type": {"type": "array", "items": "string"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2}},
        {"name": "date_ordered", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}

_BASE, _TOPPING = Decimal("8.50"), Decimal("1.75")


def avro_orders(first: int, count: int) -> Iterator[dict[str, Any]]:
    """Yield orders as values of the schema; "none" is null."""
    for order in orders(first, count):
        toppings = [one for name in ("meats", "veggies") for one in str(order[name]).split(" & ") if one != "none"]
        yield {
            "order_id": order["order_id"],
            "store_id": order["store_id"],
            **{name: None if order[name] == "none" else order[name] for name in ("sauce", "cheese")},
            "toppings": toppings,
            "price": _BASE + _TOPPING * len(toppings),
            "date_ordered": datetime.fromisoformat(str(order["date_ordered"])).replace(tzinfo=UTC),
        }


def avro_records(registry_url: str, first: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Register the schema, and yield orders with their ids as keys, in Avro, each after the id of its schema.

    Raises StackError if the registry does not take the schema.
    """
    from fastavro import parse_schema, schemaless_writer

    schema_id = register(registry_url, f"{TOPIC}-value", json.dumps(SCHEMA))
    frame, schema = b"\x00" + schema_id.to_bytes(4, "big"), parse_schema(SCHEMA)
    for order in avro_orders(first, count):
        datum = io.BytesIO()
        schemaless_writer(datum, schema, order)
        yield str(order["order_id"]), frame + datum.getvalue()
