"""The fields of a record that no column is there for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, ListType, MapType, StructType

from floe_job.schema.inference import distinct
from floe_job.schema.proposal import ELEMENT, VALUE, ColumnRules, Path
from floe_job.types import Lookup, StructLookup


@dataclass(frozen=True)
class _Inside:
    """The one step into a list ("element") or a map ("value")."""

    step: str
    known: _Known


@dataclass(frozen=True)
class _Struct:
    """A struct's columns by name, None for those in which nothing can be added."""

    lookup: StructLookup
    columns: dict[str, _Known]


_Known = _Struct | _Inside | None


class UnknownFields:
    """Finds the fields of records that a schema has no columns for."""

    def __init__(self, schema: Schema, lookup: Lookup, rules: ColumnRules) -> None:
        self._lookup = lookup
        self._rules = rules
        self._known = self._index(schema.as_struct())

    def find(self, record: dict[str, Any]) -> list[tuple[Path, Any]]:
        """Return path and value of each field without a column, in record order, nulls left out. The record converts."""
        found: list[tuple[Path, Any]] = []
        self._beyond(self._known, record, (), found)
        return found

    def _index(self, target: IcebergType) -> _Known:
        if isinstance(target, StructType):
            return _Struct(
                self._lookup.of(target), {field.name: self._index(field.field_type) for field in target.fields}
            )
        if isinstance(target, ListType) and (element := self._index(target.element_type)) is not None:
            return _Inside(ELEMENT, element)
        if isinstance(target, MapType) and (entry := self._index(target.value_type)) is not None:
            return _Inside(VALUE, entry)
        return None

    def _beyond(self, known: _Known, value: Any, path: Path, found: list[tuple[Path, Any]]) -> None:
        if value is None or known is None:
            return
        if isinstance(known, _Inside):
            for entry in value.values() if isinstance(value, dict) else value:
                self._beyond(known.known, entry, (*path, known.step), found)
        elif known.lookup.is_plain:
            columns = known.columns
            for name, entry in value.items():
                if name not in columns:
                    if entry is not None:
                        found.append(((*path, name) if path else (name,), entry))
                elif (inside := columns[name]) is not None:
                    self._beyond(inside, entry, (*path, name), found)
        else:
            self._beyond_looked_up(known, value, path, found)

    def _beyond_looked_up(
        self, known: _Struct, value: dict[str, Any], path: Path, found: list[tuple[Path, Any]]
    ) -> None:
        """Examine the value that counts of several keys for a column; find fields without a column, see ``is_hidden``."""
        lookup = known.lookup
        for name, entry in lookup.by_column(value).items():
            self._beyond(known.columns[name], entry, (*path, name), found)
        for name, entry in distinct(value, self._rules).values():
            if entry is not None and lookup.column(name) is None and name not in lookup.names:
                found.append(((*path, name), entry))
