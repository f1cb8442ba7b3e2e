"""The changes of columns that one record requires to fit: noted while it converts, instead of refusing it."""

from __future__ import annotations

from pyiceberg.schema import Schema
from pyiceberg.types import DecimalType, PrimitiveType

from floe.catalogs.pyiceberg_internals import parents_of


class PromotionRequests:
    """Promotions and required columns to be made optional, by field id."""

    def __init__(self, schema: Schema) -> None:
        """Take requests for the columns of ``schema``; its identifier fields, and the structs around them, stay required."""
        self._required = identifiers(schema)
        self.promoted: dict[int, PrimitiveType] = {}
        self.optional: dict[int, None] = {}

    def __bool__(self) -> bool:
        return bool(self.promoted or self.optional)

    def clear(self) -> None:
        """Remove the requests of the last record."""
        if self:
            self.promoted, self.optional = {}, {}

    def may_be_optional(self, field_id: int) -> bool:
        """Return whether a column may be made optional at all."""
        return field_id not in self._required

    def make_optional(self, field_id: int) -> None:
        """Note a null in a required column."""
        self.optional[field_id] = None

    def promote(self, field_id: int, wider: PrimitiveType) -> None:
        """Note a value that fits the wider type only."""
        self.promoted[field_id] = widest(self.promoted.get(field_id), wider)


def widest(known: PrimitiveType | None, wider: PrimitiveType) -> PrimitiveType:
    """Return the wider one of two promotions of one column."""
    if isinstance(known, DecimalType) and isinstance(wider, DecimalType) and known.precision > wider.precision:
        return known
    return wider


def identifiers(schema: Schema) -> frozenset[int]:
    """Return the ids of the identifier fields and of every struct around one."""
    around = parents_of(schema)
    found: set[int] = set()
    for field_id in schema.identifier_field_ids:
        current: int | None = field_id
        while current is not None:
            found.add(current)
            current = around.get(current)
    return frozenset(found)
