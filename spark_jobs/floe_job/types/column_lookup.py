"""How the keys of a record find the columns of a table: by exact name, without regard to case, or by name mapping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyiceberg.table.name_mapping import MappedField, NameMapping
from pyiceberg.types import StructType


@dataclass(frozen=True)
class StructLookup:
    """The keys of one struct, or of the table's top level. ``columns``: column name by key; ``names``: all columns."""

    columns: Mapping[str, str]
    names: frozenset[str]
    fold: bool = False

    @cached_property
    def _folded(self) -> dict[str, str]:
        return {key.lower(): name for key, name in reversed(list(self.columns.items()))}

    @cached_property
    def _keys(self) -> dict[str, tuple[str, ...]]:
        keys: dict[str, list[str]] = {}
        for key, name in self.columns.items():
            keys.setdefault(name, []).append(key)
        return {name: tuple(some) for name, some in keys.items()}

    @cached_property
    def is_plain(self) -> bool:
        """Return whether every key is the column's own name."""
        return not self.fold and all(key == name for key, name in self.columns.items())

    def column(self, key: str) -> str | None:
        """Return the name of the column that a key means. An exact name takes precedence over one in another case."""
        name = self.columns.get(key)
        return self._folded.get(key.lower()) if name is None and self.fold else name

    def keys(self, name: str) -> tuple[str, ...]:
        """Return the keys known beforehand to mean a column."""
        return (name,) if self.is_plain else self._keys.get(name, ())

    def is_hidden(self, key: str) -> bool:
        """Return whether a key means no column although a column has that name: the column is mapped to other names."""
        return key in self.names and self.column(key) is None

    def by_column(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return the values by column name; of two keys for one column the last one counts. Unknown keys are dropped."""
        if self.is_plain:
            return record
        exact, folded = self.columns, self._folded if self.fold else {}
        found = {}
        for key, value in record.items():
            name = exact.get(key)
            if name is None and folded:
                name = folded.get(key.lower())
            if name is not None:
                found[name] = value
        return found


class Lookup:
    """The look-up of a whole table, struct by struct."""

    def __init__(self, *, fold: bool = False, mapping: NameMapping | None = None) -> None:
        """Look up without regard to case if ``fold``; with a name mapping always by exactly its names.

        ``has_choices`` says whether a column can have more than one key.
        """
        self.fold = fold and mapping is None
        self._mapped: dict[int, list[str]] = {}
        self._index(mapping.root if mapping is not None else [])
        self.has_choices = self.fold or any(len(names) > 1 for names in self._mapped.values())

    def _index(self, fields: list[MappedField]) -> None:
        for field in fields:
            if field.field_id is not None and field.names:
                self._mapped[field.field_id] = field.names
            self._index(field.fields)

    def of(self, target: StructType) -> StructLookup:
        """Return the look-up of one struct: a field with mapping names by these, any other by its own name."""
        columns = {
            key: field.name for field in target.fields for key in self._mapped.get(field.field_id, (field.name,))
        }
        return StructLookup(columns, frozenset(field.name for field in target.fields), self.fold)

    def same(self, name: str) -> str:
        """Return what two names of a new column have in common if they mean the same one."""
        return name.lower() if self.fold else name


EXACT = Lookup()
