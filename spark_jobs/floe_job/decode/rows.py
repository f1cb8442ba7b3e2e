"""The exact path: record by record, value by value."""

from __future__ import annotations

from typing import Any

from pyiceberg.schema import Schema, index_by_id, index_by_name
from pyiceberg.types import DecimalType

from floe_job.conform import Lookup, Wishes, field_converter
from floe_job.conform.caps import check_column, check_count, check_full_names, check_reserved
from floe_job.conform.schema_tree import paths
from floe_job.decode.injected import Injected
from floe_job.decode.text import parse
from floe_job.decode.unknown import Unknown, proposed
from floe_job.exceptions import Unconvertible
from floe_job.infer import Path, Proposal, extend
from floe_job.needs import SchemaNeeds


class RowReader:
    """Reads single records against a table's schema, collecting what the table lacks.

    A record is accepted as a whole or not at all: its needs are taken in only when all of its values convert.
    """

    def __init__(self, schema: Schema, needs: SchemaNeeds, lookup: Lookup, injected: Injected) -> None:
        """Compile the converters of ``schema``; ``needs`` grows if its rules say evolve."""
        fields = index_by_id(schema)
        self._wishes = Wishes(schema) if needs.rules.evolve else None
        self._columns = [field_converter(field, lookup, self._wishes) for field in schema.fields]
        self._literals = any(isinstance(field.field_type, DecimalType) for field in fields.values())
        self._paths = paths(schema)
        self._lookup = lookup
        self._top = lookup.of(schema.as_struct())
        self._injected = injected
        self._unknown = Unknown(schema, lookup, needs.rules)
        self._known_count = len(fields) + len(needs.rules.taken - index_by_name(schema).keys())
        self._known_names = index_by_name(schema).keys() | needs.rules.taken
        self._needs = needs
        self._named: dict[Path, Path] = {}

    def read(self, value: bytes) -> list[Any]:
        """Return the values of the table's columns. Raises InvalidRecord, and SchemaConflict if the rules say so."""
        record = self._injected.without(parse(value, literals=self._literals))
        if self._wishes is not None:
            self._wishes.clear()
        by_column = self._top.by_column(record)
        row = [convert(by_column) for _, convert in self._columns]
        if self._wishes is not None:
            self._collect(record, self._wishes)
        return row

    def _collect(self, record: dict[str, Any], wishes: Wishes) -> None:
        found = [(self._named.get(self._needs.same(path), path), value) for path, value in self._unknown.find(record)]
        proposals = self._proposals(found)
        lacking = {path: proposal for path, proposal in proposals.items() if proposal != self._needs.columns.get(path)}
        for path, proposal in lacking.items():
            check_column(path, proposal)
        if lacking or wishes:
            self._take_in(lacking, wishes)

    def _proposals(self, found: list[tuple[Path, Any]]) -> dict[Path, Proposal]:
        """Widen the proposals for columns by a record's values, all of which must convert under what comes of it."""
        proposals: dict[Path, Proposal] = {}
        for path, value in found:
            proposal = extend(proposals.get(path) or self._needs.columns.get(path), value, self._needs.rules, path)
            if proposal is not None:
                proposals[path] = proposal
        for path, value in found:
            if path in proposals:
                try:
                    proposed(proposals[path], self._lookup)(value)
                except Unconvertible as error:
                    raise error.inside(path[-1]) from None
        return proposals

    def _take_in(self, lacking: dict[Path, Proposal], wishes: Wishes) -> None:
        """Add one record's needs, if the table can and should get them. Raises Unnameable."""
        grown = self._needs.copy()
        grown.columns.update(lacking)
        if lacking:
            path = next(iter(lacking))
            check_count(self._known_count + grown.count(), path)
            names = list(grown.full_names())
            check_reserved(names, self._needs.rules.reserved)
            check_full_names(names, self._known_names, path)
        grown.merge(
            SchemaNeeds(
                promotions={self._paths[field_id]: str(wider) for field_id, wider in wishes.promoted.items()},
                optional={self._paths[field_id]: None for field_id in wishes.optional},
                rules=self._needs.rules,
            )
        )
        if grown == self._needs:
            return
        self._needs.replace(grown)
        for path in lacking:
            self._named.setdefault(self._needs.same(path), path)
