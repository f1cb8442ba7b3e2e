"""The records: as JSON values, each made of its number alone, and the table that holds them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import (
    BooleanType,
    DoubleType,
    IcebergType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
)

_SAUCES = ("none", "light", "normal", "extra", "bbq", "alfredo")
_CHEESES = ("none", "mozzarella", "three cheese", "goat cheese", "extra")
_MEATS = ("none", "ham", "pepperoni", "sausage", "bacon", "salami", "ham & bacon", "pepperoni & sausage")
_VEGGIES = ("none", "onions", "peppers", "olives", "mushrooms", "onions & pineapple", "tomato & spinach")
Headers = list[tuple[str, str | bytes | None]]

TABLES = 100
"""Tables that routed records name."""


@dataclass(frozen=True)
class Shape:
    """A kind of record: its name, its fields with their Iceberg types."""

    name: str
    fields: tuple[tuple[str, IcebergType], ...]

    @property
    def schema(self) -> Schema:
        """The columns of a table for such records."""
        ids = iter(range(1, 10_000))
        return Schema(
            *[NestedField(next(ids), name, _numbered(kind, ids), required=False) for name, kind in self.fields]
        )

    def values(self, first: int, count: int) -> Iterator[bytes]:
        """Yield records ``first`` to ``first + count`` as JSON."""
        return (_MAKERS[self.name](number) for number in range(first, first + count))

    def headers(self, number: int) -> Headers:
        """Return the headers of a record; none, unless a kind has some."""
        return []


def _numbered(kind: IcebergType, ids: Iterator[int]) -> IcebergType:
    """Return a type with field ids of its own all the way down."""
    if isinstance(kind, StructType):
        return StructType(
            *[NestedField(next(ids), f.name, _numbered(f.field_type, ids), required=False) for f in kind.fields]
        )
    if isinstance(kind, ListType):
        return ListType(next(ids), _numbered(kind.element_type, ids), element_required=False)
    return kind


def struct(**fields: IcebergType) -> StructType:
    """Return a struct of optional fields, without ids."""
    return StructType(*[NestedField(0, name, kind, required=False) for name, kind in fields.items()])


def order_id(number: int) -> str:
    """Return a text like a UUID, another for each number."""
    x = (number * 0x9E3779B97F4A7C15 + 0x7F4A7C15) & 0xFFFFFFFFFFFFFFFF
    y = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    return f"{x >> 32:08x}-{x >> 16 & 0xFFFF:04x}-4{x & 0xFFF:03x}-a{y >> 52:03x}-{y & 0xFFFFFFFFFFFF:012x}"


def _date(number: int) -> str:
    minute, second = divmod(number * 13, 60)
    hour, minute = divmod(minute, 60)
    day, hour = divmod(hour, 24)
    return f"2024-{day // 28 % 12 + 1:02d}-{day % 28 + 1:02d} {hour:02d}:{minute:02d}:{second:02d}"


def _pizza(number: int, more: str = "") -> bytes:
    n = number * 2654435761 & 0xFFFFFFFF
    return (
        f'{{{more}"order_id":"{order_id(number)}","store_id":{n % 120 + 1},"sauce":"{_SAUCES[n % 6]}",'
        f'"cheese":"{_CHEESES[n // 7 % 5]}","meats":"{_MEATS[n // 11 % 8]}","veggies":"{_VEGGIES[n // 13 % 7]}",'
        f'"date_ordered":"{_date(number)}"}}'
    ).encode()


def _routed(number: int) -> bytes:
    return _pizza(number, f'"target":"bench.t{number % TABLES:03d}",')


def _nested(number: int) -> bytes:
    n = number * 2654435761 & 0xFFFFFFFF
    lines = [
        {"sku": f"sku-{n // (i + 3) % 5000:05d}", "name": f"article number {n // (i + 5) % 900}", "price": n % 9973 / 100,
         "quantity": n // (i + 7) % 9 + 1, "tags": [_SAUCES[n // (i + 2) % 6], _CHEESES[n // (i + 4) % 5]]}
        for i in range(5)
    ]  # fmt: skip
    return json.dumps(
        {
            "order_id": order_id(number),
            "customer": {
                "id": n % 1_000_000,
                "name": f"customer {n % 1_000_000}",
                "address": {"street": f"{n % 700} Long Street", "city": f"city {n % 300}", "zip": f"{n % 100_000:05d}"},
                "is_new": n % 7 == 0,
            },
            "lines": lines,
            "total": n % 99_991 / 100,
            "ordered": _date(number),
            "note": "please ring twice, the dog is friendly but loud " * 2,
        },
        separators=(",", ":"),
    ).encode()


def _wide(number: int) -> bytes:
    n = number * 2654435761 & 0xFFFFFFFF
    return ("{" + ",".join(f'"c{i:02d}":{(n >> i % 24) % 1000}' for i in range(100)) + "}").encode()


def _untidy(number: int) -> bytes:
    """Make an order whose keys are in one of three orders, a third of the optional ones missing, with escapes."""
    n = number * 2654435761 & 0xFFFFFFFF
    dog = "the dog\\cat is friendly but loud, leave it outside"
    fields: list[tuple[str, object]] = [
        ("order_id", order_id(number)),
        ("store_id", n % 120 + 1),
        ("sauce", _SAUCES[n % 6]),
        ("cheese", _CHEESES[n // 7 % 5]),
        ("city", _CITIES[n // 3 % 5]),
        ("total", n % 99_991 / 100),
        ("date_ordered", _date(number)),
        ("customer", f'Zoë "{n % 1_000_000}" Müller'),
        (
            "note",
            f"please ring twice at number {n % 700},\n{dog}\t({_MEATS[n // 11 % 8]}) — crème",
        ),
        ("meats", _MEATS[n // 11 % 8]),
        ("veggies", _VEGGIES[n // 13 % 7]),
        ("is_new", n % 7 == 0),
    ]
    first = n % 3 * 4
    kept = [(name, value) for i, (name, value) in enumerate(fields) if i < _REQUIRED or n // (i + 17) % 3]
    in_order = dict([*kept[first:], *kept[:first]])
    return json.dumps(in_order, ensure_ascii=n % 4 == 0).encode()


_CITIES = ("Zürich", "São Paulo", "東京", "Malmö", "Kraków")
_REQUIRED = 2
_MAKERS = {"pizza": _pizza, "routed": _routed, "nested": _nested, "wide": _wide, "untidy": _untidy}

_PIZZA: tuple[tuple[str, IcebergType], ...] = (
    ("order_id", StringType()),
    ("store_id", LongType()),
    *((name, StringType()) for name in ("sauce", "cheese", "meats", "veggies", "date_ordered")),
)
_ADDRESS = struct(street=StringType(), city=StringType(), zip=StringType())
_LINE: dict[str, Any] = {
    "sku": StringType(),
    "name": StringType(),
    "price": DoubleType(),
    "quantity": LongType(),
    "tags": ListType(0, StringType(), element_required=False),
}

PIZZA = Shape("pizza", _PIZZA)
ROUTED = Shape("routed", (("target", StringType()), *_PIZZA))
NESTED = Shape(
    "nested",
    (
        ("order_id", StringType()),
        ("customer", struct(id=LongType(), name=StringType(), address=_ADDRESS, is_new=BooleanType())),
        ("lines", ListType(0, struct(**_LINE), element_required=False)),
        ("total", DoubleType()),
        ("ordered", StringType()),
        ("note", StringType()),
    ),
)
WIDE = Shape("wide", tuple((f"c{i:02d}", LongType()) for i in range(100)))
UNTIDY = Shape(
    "untidy",
    (
        *_PIZZA,
        *((name, StringType()) for name in ("city", "customer", "note")),
        ("total", DoubleType()),
        ("is_new", BooleanType()),
    ),
)
