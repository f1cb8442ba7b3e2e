"""The exact path: record by record, value by value."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from pyiceberg.schema import Schema, index_by_id, index_by_name
from pyiceberg.types import DecimalType

from floe_job.convert.json.framing import Injected
from floe_job.convert.json.parse import parse, plain_object
from floe_job.exceptions import InvalidRecord, SchemaConflict
from floe_job.schema.evolution import SchemaChanges, paths
from floe_job.schema.limits import FullNames
from floe_job.schema.proposed_columns import ProposedColumns
from floe_job.schema.unknown_fields import UnknownFields
from floe_job.types import Converter, Lookup, PromotionRequests, field_converter
from floe_job.types.coercion import Trees
from floe_job.types.typed_values import made_primitive


class RowReader:
    """Reads single records against a table's schema, collecting what the table lacks.

    A record is accepted as a whole or not at all: its needs are added only when all of its values convert. Its cost
    depends on its own fields, not on the table's columns nor on those that other records need.
    """

    def __init__(self, schema: Schema, needs: SchemaChanges, lookup: Lookup, injected: Injected) -> None:
        """Compile the converters of ``schema``; ``needs`` grows if its rules say evolve."""
        fields = index_by_id(schema)
        self._promotions = PromotionRequests(schema) if needs.rules.evolve else None
        self._columns = dict(field_converter(field, lookup, self._promotions) for field in schema.fields)
        self._schema = schema
        self._required = [field.name for field in schema.fields if field.required]
        self._literals = any(isinstance(field.field_type, DecimalType) for field in fields.values())
        self._paths = paths(schema)
        self._lookup = lookup
        self._top = lookup.of(schema.as_struct())
        self._injected = injected
        self._unknown = UnknownFields(schema, lookup, needs.rules)
        known, taken = index_by_name(schema).keys(), needs.rules.taken
        self._proposed = ProposedColumns(
            needs.rules, FullNames(known | taken, twins=needs.rules.case_twins), len(fields) + len(taken - known)
        )
        self._needs = needs
        self._has_changed = False

    def read(self, value: bytes) -> dict[str, Any]:
        """Return the values of a record by column; a column that it does not fill is left out.

        Raises InvalidRecord, and SchemaConflict if the rules say so.
        """
        return self._row(parse(value, literals=self._literals), self._columns)

    def read_parsed(self, value: Any) -> dict[str, Any]:
        """Return the values of a record that is parsed already, as ``read`` does. Raises the same errors."""
        self._proposed.takes_made = True
        return self._row(plain_object(value), self._made_columns)

    @cached_property
    def _made_columns(self) -> dict[str, Converter]:
        """What converts values that transforms may have made."""
        trees = Trees(made_primitive, self._lookup, self._promotions)
        return dict(trees.field_converter(field) for field in self._schema.fields)

    def _row(self, record: dict[str, Any], columns: dict[str, Converter]) -> dict[str, Any]:
        record = self._injected.without(record)
        if self._promotions is not None:
            self._promotions.clear()
        by_column = self._top.by_column(record)
        row = {name: columns[name](by_column) for name in by_column if name in columns}
        for name in self._required:
            if name not in row:
                row[name] = columns[name](by_column)
        if self._promotions is not None:
            self._collect(record, self._promotions)
        return row

    def take_in(self) -> bool:
        """Update the needs with those of the records so far; return whether that changes them."""
        has_changed, self._has_changed = self._has_changed, False
        if has_changed:
            self._needs.columns.update(self._proposed.changes())
        return has_changed

    def _collect(self, record: dict[str, Any], promotions: PromotionRequests) -> None:
        found = self._unknown.find(record)
        if not found:
            self._promotion(promotions)
            return
        try:
            has_changed = self._proposed.take(found)
        except (InvalidRecord, SchemaConflict):
            self._proposed.undo()
            raise
        self._proposed.keep()
        self._has_changed = self._has_changed or has_changed
        self._promotion(promotions)

    def _promotion(self, promotions: PromotionRequests) -> None:
        if promotions:
            wanted = {self._paths[field_id]: str(wider) for field_id, wider in promotions.promoted.items()}
            optional = {self._paths[field_id]: None for field_id in promotions.optional}
            self._has_changed = self._needs.widen(wanted, optional) or self._has_changed
