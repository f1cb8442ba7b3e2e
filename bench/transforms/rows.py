"""The row of a database that transforms are measured with: flat, 300 bytes as JSON; and its change events."""

from __future__ import annotations

from typing import Any, Final

from pyiceberg.types import BooleanType, DoubleType, IcebergType, IntegerType, LongType, StringType, TimestamptzType

from bench.formats.orders import CHANNELS, Fields
from bench.records import order_id, struct

COLUMNS: Final[dict[str, IcebergType]] = {
    "id": LongType(),
    "order_id": StringType(),
    "customer_id": LongType(),
    "store_id": IntegerType(),
    "channel": StringType(),
    "street": StringType(),
    "city": StringType(),
    "note": StringType(),
    "discount": DoubleType(),
    "total": DoubleType(),
    "ordered_at": TimestamptzType(),
    "updated_at": TimestamptzType(),
    "is_gift": BooleanType(),
}
OPTIONAL: Final = ("note", "discount", "before", "after")
"""Columns, and parts of an event, that may be null."""

SOURCE: Final[dict[str, IcebergType]] = {
    "version": StringType(),
    "connector": StringType(),
    "name": StringType(),
    "ts_ms": LongType(),
    "snapshot": StringType(),
    "db": StringType(),
    "schema": StringType(),
    "table": StringType(),
    "txId": LongType(),
    "lsn": LongType(),
}
EVENT: Final[dict[str, IcebergType]] = {
    "before": struct(**COLUMNS),
    "after": struct(**COLUMNS),
    "source": struct(**SOURCE),
    "op": StringType(),
    "ts_ms": LongType(),
}
FIELDS: Final[Fields] = tuple(COLUMNS.items())
EVENT_FIELDS: Final[Fields] = tuple(EVENT.items())

OPERATIONS: Final = "cuucuucuud"
"""The operations of ten events in a row: creates, updates and one delete."""

_FIRST_MS: Final = 1_704_067_200_000


def row(number: int) -> dict[str, Any]:
    """Return a row; times in ms since 1970."""
    n = number * 2654435761 & 0xFFFFFFFF
    ordered = _FIRST_MS + number * 1000 + n % 1000 * 1000
    return {
        "id": number,
        "order_id": order_id(number),
        "customer_id": n % 1_000_000,
        "store_id": n % 120 + 1,
        "channel": CHANNELS[n % 4],
        "street": f"{n % 700} Long Street, {n // 7 % 90} floor",
        "city": f"city {n % 300}",
        "note": None if n % 3 == 0 else f"ring twice at number {n % 700}",
        "discount": None if n % 4 else n % 50 / 100,
        "total": n % 99_991 / 100,
        "ordered_at": ordered,
        "updated_at": ordered + n % 86_400_000,
        "is_gift": n % 7 == 0,
    }


def change(number: int) -> dict[str, Any]:
    """Return a change event as Debezium's PostgreSQL connector makes it, with the row before updates and deletes."""
    op, now = OPERATIONS[number % len(OPERATIONS)], _FIRST_MS + number * 7
    after = row(number)
    before = {**after, "channel": CHANNELS[number % 4], "total": after["total"] + 1.5}
    return {
        "before": None if op == "c" else before,
        "after": None if op == "d" else after,
        "source": {
            "version": "3.3.1.Final",
            "connector": "postgresql",
            "name": "shop",
            "ts_ms": now,
            "snapshot": "false",
            "db": "orders",
            "schema": "public",
            "table": "orders",
            "txId": 1_000_000 + number // 3,
            "lsn": 24_000_000 + number * 56,
        },
        "op": op,
        "ts_ms": now + 40,
    }


def deletes(records: int) -> int:
    """Return how many of the first events are deletes."""
    whole, rest = divmod(records, len(OPERATIONS))
    return whole * OPERATIONS.count("d") + OPERATIONS[:rest].count("d")
