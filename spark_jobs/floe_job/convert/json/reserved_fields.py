"""The columns that a transform fills in beside the record."""

from __future__ import annotations

from typing import Any

from pyiceberg.schema import Schema

from floe_job.schema.rules import ColumnRules
from floe_job.schema.tree import widened
from floe_job.types import Lookup


class Injected:
    """The top-level names of a table whose values are not taken from the record, even if the record uses these names."""

    def __init__(self, schema: Schema, lookup: Lookup, rules: ColumnRules) -> None:
        self._lookup = lookup
        self._top = lookup.of(schema.as_struct())
        self._names = frozenset(map(lookup.same, rules.injected))
        self.columns = frozenset(field.name for field in schema.fields if lookup.same(field.name) in self._names)

    def hides(self, key: str) -> bool:
        """Return whether a record's top-level field is to be ignored."""
        return bool(self._names) and (self._lookup.same(key) in self._names or self._top.column(key) in self.columns)

    def without(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return a record without the fields that are to be ignored."""
        if not self._names:
            return record
        return {key: value for key, value in record.items() if not self.hides(key)}

    def left_empty(self, schema: Schema) -> Schema:
        """Return ``schema`` as it is before the columns are filled in: they may be null."""
        if not self.columns:
            return schema
        return widened(schema, {}, {field.field_id for field in schema.fields if field.name in self.columns})
