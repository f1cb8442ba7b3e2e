"""The order that every format is measured with: twelve fields, each order made of its number alone."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from pyiceberg.types import (
    BooleanType,
    DecimalType,
    DoubleType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    StringType,
    TimestamptzType,
)

from bench.records import order_id, struct

CHANNELS: Final = ("WEB", "APP", "PHONE", "SHOP")
PRECISION: Final = 12
SCALE: Final = 2
_TOPPINGS: Final = ("ham", "bacon", "salami", "onions", "peppers", "olives", "mushrooms", "pineapple")
_FIRST_MS: Final = 1_704_067_200_000

Fields = tuple[tuple[str, IcebergType], ...]

FIELDS: Final[Fields] = (
    ("order_id", StringType()),
    ("customer_id", LongType()),
    ("store_id", IntegerType()),
    ("channel", StringType()),
    ("note", StringType()),
    ("discount", DoubleType()),
    ("total", DecimalType(PRECISION, SCALE)),
    ("ordered_at", TimestamptzType()),
    ("delivered_at", TimestamptzType()),
    ("is_gift", BooleanType()),
    ("address", struct(street=StringType(), city=StringType(), zip=StringType())),
    ("toppings", ListType(0, StringType(), element_required=False)),
)


def order(number: int) -> dict[str, Any]:
    """Return an order: times in ms since 1970, four fields that are null now and then."""
    n = number * 2654435761 & 0xFFFFFFFF
    ordered = _FIRST_MS + number * 1300 + n % 1000
    return {
        "order_id": order_id(number),
        "customer_id": n % 1_000_000,
        "store_id": n % 120 + 1,
        "channel": CHANNELS[n % 4],
        "note": None if n % 3 else f"ring twice at number {n % 700}",
        "discount": None if n % 4 else n % 50 / 100,
        "total": Decimal(n % 99_991).scaleb(-SCALE),
        "ordered_at": ordered,
        "delivered_at": None if n % 5 == 0 else ordered + 1_800_000 + n % 60_000,
        "is_gift": n % 7 == 0,
        "address": {
            "street": f"{n % 700} Long Street",
            "city": f"city {n % 300}",
            "zip": None if n % 6 == 0 else f"{n % 100_000:05d}",
        },
        "toppings": [_TOPPINGS[n // (i + 3) % 8] for i in range(n % 4)],
    }
