"""Converters of values without a schema that become objects, one by one: they need no more than what parses one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.table.name_mapping import NameMapping

from floe_job.contract.dead_letter import Rejected
from floe_job.convert.base import Decoded, FieldConverter, Parsed, TableConverter, TableField, schema_of
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.exceptions import InvalidRecord, Malformed
from floe_job.schema.evolution import SchemaChanges
from floe_job.schema.proposal import ColumnRules
from floe_job.source.record_batch import ParsedValues

Parse = Callable[[bytes], dict[str, Any]]
"""Returns the object of a value: a dict of what JSON has, and of ``bytes``. Raises Malformed for bytes that are none."""


class ObjectConverters:
    """``Converters`` by one function. Rows are made as of JSON without schemas: any new field may become a column."""

    def __init__(self, parse: Parse) -> None:
        self._parse = parse

    def for_table(
        self, schema: Schema | None, rules: ColumnRules, *, create: bool, name_mapping: NameMapping | None = None
    ) -> TableConverter:
        """Make the converter of one table."""
        return _ObjectTable(self._parse, JsonDecoder(schema, rules, create=create, name_mapping=name_mapping))

    def for_field(self, path: tuple[str, ...]) -> FieldConverter:
        """Make the reader of one field."""
        return _ObjectField(self._parse, TableField(path, JsonDecoder(schema_of(path), ColumnRules(), create=False)))

    def for_key(self, path: tuple[str, ...]) -> FieldConverter:
        """Refuse: a class that reads objects has no role for keys."""
        problem = "keys that become objects are not read: register the class for values only"
        raise ValueError(problem)

    def whole(self, values: Sequence[bytes | None]) -> Parsed:
        """Parse whole values."""
        return _parsed(self._parse, values)


class _ObjectTable:
    def __init__(self, parse: Parse, objects: JsonDecoder) -> None:
        self._parse = parse
        self._objects = objects

    @property
    def needs(self) -> SchemaChanges:
        return self._objects.needs

    def decode(self, values: Sequence[bytes] | ParsedValues) -> Decoded:
        if isinstance(values, ParsedValues):
            return self._objects.decode(values)
        good, kept, rejected = _good(self._parse, values)
        decoded = self._objects.decode(good)
        return Decoded(decoded.table, _joined(rejected, decoded.rejected, kept), 0, len(values))


class _ObjectField:
    def __init__(self, parse: Parse, objects: TableField) -> None:
        self._parse = parse
        self._objects = objects

    def read(self, values: Sequence[bytes] | ParsedValues) -> tuple[Sequence[Rejected], pa.Array]:
        if isinstance(values, ParsedValues):
            return self._objects.read(values)
        good, kept, rejected = _good(self._parse, values)
        more, texts = self._objects.read(good)
        return _joined(rejected, more, kept), texts


def _parsed(parse: Parse, values: Sequence[bytes | None]) -> Parsed:
    parsed, rejected = ParsedValues(), []
    for index, value in enumerate(values):
        try:
            parsed.append(None if value is None else _object(parse(value)))
        except InvalidRecord as error:
            parsed.append(None)
            rejected.append(Rejected(index, error.stage, error.reason, type(error).__name__))
    return Parsed(parsed, tuple(rejected))


def _object(made: Any) -> dict[str, Any]:
    """Return what was parsed. Raises Malformed for what is no object: None would be taken for a tombstone."""
    if not isinstance(made, dict):
        problem = f"its converter made a {type(made).__name__} of it, and no object"
        raise Malformed(problem)
    return made


def _good(parse: Parse, values: Sequence[bytes]) -> tuple[ParsedValues, list[int], tuple[Rejected, ...]]:
    """Return the objects of the records that can be read, their places, and what was rejected."""
    parsed = _parsed(parse, values)
    bad = {one.index for one in parsed.rejected}
    kept = [place for place in range(len(values)) if place not in bad]
    return parsed.values.select(kept), kept, parsed.rejected


def _joined(first: Sequence[Rejected], later: Sequence[Rejected], kept: Sequence[int]) -> tuple[Rejected, ...]:
    """Put together what was rejected of all, and of those ``kept``, in order."""
    return tuple(sorted((*first, *(one.at(kept[one.index]) for one in later)), key=lambda one: one.index))
