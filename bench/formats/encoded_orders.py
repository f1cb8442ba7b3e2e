"""Orders as each format encodes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.formats.orders import order
from bench.formats.registry import FORMATS
from bench.records import Shape


@dataclass(frozen=True)
class OrdersInFormat(Shape):
    """Orders in a format; picklable."""

    schema_id: int = 0

    def values(self, first: int, count: int) -> Iterator[bytes]:
        """Yield orders ``first`` to ``first + count``."""
        encode = FORMATS[self.name].encoder(self.schema_id)
        return (encode(order(number)) for number in range(first, first + count))


def orders_in(name: str, schema_id: int = 0) -> OrdersInFormat:
    """Return the orders of a format."""
    return OrdersInFormat(name, FORMATS[name].fields, schema_id)
