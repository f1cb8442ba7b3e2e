"""The exact path: record by record, value by value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pyiceberg.schema import Schema, index_by_id, index_by_name
from pyiceberg.types import DecimalType, IcebergType, ListType, MapType, StructType

from floe_job.conform import Converter, converter, field_converter
from floe_job.decode.text import parse
from floe_job.exceptions import VALUE_LENGTH, Unconvertible, Unnameable, clip
from floe_job.infer import ListOf, Proposal, StructOf, extend, iceberg_type, infer
from floe_job.needs import Path, SchemaNeeds

MAX_COLUMNS = 1000
MAX_NAME_LENGTH = 255


@dataclass(frozen=True)
class _Inside:
    """The one step into a list ("element") or a map ("value")."""

    step: str
    known: _Known


_Known = dict[str, "_Known"] | _Inside | None


class RowReader:
    """Reads single records against a table's schema, collecting the columns that the table lacks.

    A record is accepted as a whole or not at all: its needs are taken in only when all of its values convert.
    """

    def __init__(self, schema: Schema, needs: SchemaNeeds, *, evolve: bool) -> None:
        """Compile the converters of ``schema``; ``needs`` grows if ``evolve``."""
        fields = index_by_id(schema)
        self._columns = [field_converter(field) for field in schema.fields]
        self._literals = any(isinstance(field.field_type, DecimalType) for field in fields.values())
        self._known = _known(schema.as_struct())
        self._known_count = len(fields)
        self._known_names = index_by_name(schema).keys()
        self._needs = needs
        self._evolve = evolve

    def read(self, value: bytes) -> list[Any]:
        """Return the values of the table's columns. Raises InvalidRecord."""
        record = parse(value, literals=self._literals)
        row = [convert(record) for _, convert in self._columns]
        if self._evolve:
            self._collect(record)
        return row

    def _collect(self, record: dict[str, Any]) -> None:
        lacking: dict[Path, Proposal] = {}
        for path, value in _beyond(self._known, record, ()):
            proposal = self._propose(path, value, lacking.get(path) or self._needs.columns.get(path))
            if proposal is not None and proposal != self._needs.columns.get(path):
                _check_names(path[-1], proposal)
                lacking[path] = proposal
        if lacking:
            needs = SchemaNeeds({**self._needs.columns, **lacking})
            self._check(needs, clip(next(iter(lacking))[-1], VALUE_LENGTH))
            self._needs.columns = needs.columns

    def _check(self, needs: SchemaNeeds, name: str) -> None:
        """Refuse a schema that no table should or can get. Raises Unnameable."""
        if self._known_count + needs.count() > MAX_COLUMNS:
            problem = f"column {name!r}: the table would have more than {MAX_COLUMNS} columns"
            raise Unnameable(problem)
        names = list(needs.full_names())
        if len(set(names)) < len(names) or not self._known_names.isdisjoint(names):
            problem = f"column {name!r}: with it two columns would have one full name, one by a dot in its name"
            raise Unnameable(problem)

    @staticmethod
    def _propose(path: Path, value: Any, so_far: Proposal | None) -> Proposal | None:
        """Widen the proposal for a column by one value, which must convert under it."""
        proposal = infer(value) if so_far is None else extend(so_far, value)
        if proposal is not None:
            try:
                _proposed(proposal)(value)
            except Unconvertible as error:
                raise error.inside(path[-1]) from None
        return proposal


def _known(target: IcebergType) -> _Known:
    """Index the columns of a struct by name; None where nothing can be added inside."""
    if isinstance(target, StructType):
        return {field.name: _known(field.field_type) for field in target.fields}
    if isinstance(target, ListType) and (element := _known(target.element_type)) is not None:
        return _Inside("element", element)
    if isinstance(target, MapType) and (entry := _known(target.value_type)) is not None:
        return _Inside("value", entry)
    return None


def _beyond(known: _Known, value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield what a converted value holds beyond the known columns, nulls left out, in record order."""
    if isinstance(known, _Inside):
        for entry in value.values() if isinstance(value, dict) else value or ():
            yield from _beyond(known.known, entry, (*path, known.step))
    elif known is not None and value is not None:
        for name, entry in value.items():
            if name in known:
                yield from _beyond(known[name], entry, (*path, name))
            elif entry is not None:
                yield (*path, name), entry


@lru_cache(maxsize=4096)
def _proposed(proposal: Proposal) -> Converter:
    return converter(iceberg_type(proposal))


def _check_names(name: str, proposal: Proposal) -> None:
    """Refuse names that no table should get. Raises Unnameable."""
    if not name:
        problem = "a column with an empty name"
        raise Unnameable(problem)
    if len(name) > MAX_NAME_LENGTH:
        shown = clip(name, VALUE_LENGTH)
        problem = f"column {shown!r}: a name of {len(name)} characters, at most {MAX_NAME_LENGTH} are taken"
        raise Unnameable(problem)
    if "\x00" in name or not _encodable(name):
        problem = f"column {clip(ascii(name), VALUE_LENGTH)}: a name that is not text"
        raise Unnameable(problem)
    inner = proposal.element if isinstance(proposal, ListOf) else proposal
    while isinstance(inner, ListOf):
        inner = inner.element
    if isinstance(inner, StructOf):
        for field, nested in inner.fields:
            _check_names(field, nested)


def _encodable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
