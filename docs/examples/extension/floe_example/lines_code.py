"""The code of the converter: parses lines, and leaves the rest to what reads objects."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.table.name_mapping import NameMapping

from floe.config.converters.base import ConverterSpec
from floe_job.contract.rejected_record import Rejected
from floe_job.convert.base import Decoded, Parsed
from floe_job.convert.context import ConverterContext
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.convert.table_field import TableField, schema_of
from floe_job.exceptions import InvalidRecord, Malformed
from floe_job.schema.evolution import SchemaChanges
from floe_job.schema.rules import ColumnRules
from floe_job.source.record_batch import ParsedValues


def parse(value: bytes) -> dict[str, str]:
    """Parse a line. Raises Malformed."""
    try:
        return dict(pair.split("=", 1) for pair in value.decode().split())
    except ValueError:
        problem = f"not a line of name=value pairs: {value[:30]!r}"
        raise Malformed(problem) from None


def parse_all(values: Sequence[bytes | None]) -> Parsed:
    parsed, rejected = ParsedValues(), []
    for index, value in enumerate(values):
        try:
            parsed.append(None if value is None else parse(value))
        except InvalidRecord as error:
            parsed.append(None)
            rejected.append(Rejected(index, error.stage, error.reason, type(error).__name__))
    return Parsed(parsed, tuple(rejected))


class LineConverters:
    """What the spec of ``lines`` names."""

    def __init__(self, spec: ConverterSpec, context: ConverterContext) -> None:
        self.spec = spec

    def for_table(
        self, schema: Schema | None, rules: ColumnRules, *, create: bool, name_mapping: NameMapping | None = None
    ) -> LineTable:
        return LineTable(JsonDecoder(schema, rules, create=create, name_mapping=name_mapping))

    def for_field(self, path: tuple[str, ...]) -> LineField:
        return LineField(path)

    def whole(self, values: Sequence[bytes | None]) -> Parsed:
        return parse_all(values)


class LineTable:
    """Rows of one table."""

    def __init__(self, objects: JsonDecoder) -> None:
        self._objects = objects

    @property
    def needs(self) -> SchemaChanges:
        return self._objects.needs

    def decode(self, values: Sequence[bytes] | ParsedValues) -> Decoded:
        good, kept, rejected = _parsed(values)
        decoded = self._objects.decode(good)
        return Decoded(decoded.table, _joined(rejected, decoded.rejected, kept), 0, len(values))


class LineField:
    """One field."""

    def __init__(self, path: tuple[str, ...]) -> None:
        self._objects = TableField(path, JsonDecoder(schema_of(path), ColumnRules(), create=False))

    def read(self, values: Sequence[bytes] | ParsedValues) -> tuple[Sequence[Rejected], pa.Array]:
        good, kept, rejected = _parsed(values)
        more, texts = self._objects.read(good)
        return _joined(rejected, more, kept), texts


def _parsed(values: Sequence[bytes] | ParsedValues) -> tuple[ParsedValues, list[int], tuple[Rejected, ...]]:
    if isinstance(values, ParsedValues):
        return values, list(range(len(values))), ()
    parsed = parse_all(values)
    kept = [i for i in range(len(values)) if i not in {one.index for one in parsed.rejected}]
    return parsed.values.select(kept), kept, parsed.rejected


def _joined(first: Sequence[Rejected], later: Sequence[Rejected], kept: Sequence[int]) -> tuple[Rejected, ...]:
    moved = (Rejected(kept[one.index], one.stage, one.reason, one.error) for one in later)
    return tuple(sorted((*first, *moved), key=lambda one: one.index))
