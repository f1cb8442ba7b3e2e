"""The demo's orders in Avro: those of the JSON demo, typed, framed by the id that the registry gave."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from decimal import Decimal

import fastavro
import pytest

from stack import avro_orders
from stack.orders import json_records, orders


def test_avro_orders_are_the_json_orders_typed() -> None:
    plain, typed = list(orders(0, 200)), list(avro_orders.avro_orders(0, 200))
    assert [one["order_id"] for one in typed] == [one["order_id"] for one in plain]
    assert {type(one["price"]) for one in typed} == {Decimal}
    assert typed[0]["date_ordered"] == datetime(2024, 1, 4, 12, 28, 13, tzinfo=UTC)
    assert any(one["sauce"] is None for one in typed)
    assert all("none" not in one["toppings"] for one in typed)


def test_avro_records_begin_with_the_registered_id(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(avro_orders, "register", lambda url, subject, schema: asked.append((url, subject)) or 258)
    records = list(avro_orders.avro_records("http://registry", 5, 20))
    assert asked == [("http://registry", "completed-pizzas-avro-value")]
    assert {value[:5] for _, value in records} == {b"\x00\x00\x00\x01\x02"}
    schema = fastavro.parse_schema(avro_orders.SCHEMA)
    read = [fastavro.schemaless_reader(io.BytesIO(value[5:]), schema, None) for _, value in records]
    assert read == list(avro_orders.avro_orders(5, 20))
    assert [key for key, _ in records] == [key for key, _ in json_records(5, 20)]
