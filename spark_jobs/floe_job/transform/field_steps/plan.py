"""A table's columns, read from JSON without schemas and changed as a chain of transforms changes the fields."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NoReturn

import numpy as np
import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import BooleanType, DoubleType, IcebergType, LongType, NestedField, StringType

from floe_job.contract.dead_letter import Rejected
from floe_job.convert.base import Converters, Decoded, TableConverter
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.convert.json.parse import parse
from floe_job.exceptions import InvalidRecord, Malformed
from floe_job.schema.proposal import ColumnRules
from floe_job.source.native.memory import find
from floe_job.source.record_batch import Records
from floe_job.source.values import Packed, packed
from floe_job.transform.batch import UNREAD, ParsedBatch, Readers, value_reader
from floe_job.transform.field_steps.demand import Demand, Demands, Mask
from floe_job.transform.value_change import EachValue, ValueChange

_PLAIN_NAME: Final = re.compile(r"[\w-]{1,100}")
"""A name that a column may have beside any other, none of which it is a path of."""

MAX_DROPPED: Final = 200
"""Fields without a column that are read too."""

SAMPLED: Final = 32
"""Records that are examined for the types of fields that are dropped."""

MOST_OF_OTHERS: Final = 10
"""One record of so many may go the exact way before dropped fields are no longer read."""

_KINDS: Final[dict[type, IcebergType]] = {str: StringType(), int: LongType(), float: DoubleType(), bool: BooleanType()}


class FieldPlan:
    """Reads the columns of a table from records that need no exact way."""

    def __init__(self, schema: Schema, rules: ColumnRules, demands: Demands) -> None:
        """``demands``: of ``schema``, at the begin of the chain."""
        self._arrow = schema_to_pyarrow(schema)
        self._required = [field.name for field in schema.fields if field.required]
        self._demands = demands
        self._kinds = {demand.field: demand.kind for demand in demands.columns.values() if demand.field is not None}
        self._rules = ColumnRules(
            evolve=rules.evolve and not demands.closed,
            injected=demands.hidden - self._kinds.keys(),
            on_conflict=rules.on_conflict,
        )
        self._decoder: JsonDecoder | None = None
        self._reads_dropped = True
        self._probes = Probes(demands.probed)

    @classmethod
    def of(cls, schema: Schema, rules: ColumnRules, changes: Sequence[ValueChange]) -> FieldPlan | None:
        """Return the plan of some transforms; None where they cannot be applied to columns, or there are none."""
        if rules.case_insensitive or not schema.fields:
            return None
        columns = {field.name: Demand(field.name, field.field_type) for field in schema.fields}
        demands: Demands | None = Demands(columns, rules.evolve, hidden=rules.injected)
        for change in reversed(changes):
            demands = change.demands(demands) if demands is not None else None
        if demands is None:
            return None
        read: dict[str, set[str]] = {}
        for demand in demands.columns.values():
            if demand.field is not None:
                read.setdefault(demand.field, set()).add(str(demand.kind))
        return cls(schema, rules, demands) if all(len(kinds) == 1 for kinds in read.values()) else None

    def read(self, records: Records) -> tuple[pa.Table, Mask]:
        """Return the rows of those records that need no exact way, in order, and which of all need it."""
        values = records.content
        exact = self._probes.rows(values)
        some = np.flatnonzero(~exact)
        chosen = values if len(some) == len(values) else records.select(some.tolist()).content
        decoded = self._decode(chosen)
        exact[some[[one.index for one in decoded.rejected]]] = True
        read = decoded.table
        assert read is not None  # noqa: S101 - it has a schema, and no record changes what it lacks
        rows = np.flatnonzero(~exact)
        left = records if len(rows) == len(records) else records.select(rows.tolist())
        bad = np.zeros(len(rows), np.bool_)
        arrays = [self._column(field, read, left, bad) for field in self._arrow]
        table = pa.Table.from_arrays(arrays, schema=self._arrow)
        if bad.any():
            exact[rows[bad]] = True
            table = table.filter(pa.array(~bad))
        return table, exact

    def _column(self, field: pa.Field, read: pa.Table, records: Records, bad: Mask) -> pa.Array:
        demand = self._demands.columns[field.name]
        if demand.make is not None:
            column, wrong = demand.make(records)
            if wrong is not None:
                bad |= wrong
        elif demand.field is not None:
            column = read.column(demand.field).combine_chunks()
        else:
            column = pa.nulls(len(records), field.type)
        for op in demand.ops if demand.make is not None or demand.field is not None else ():  # null stays null
            column, wrong = op(column)
            if wrong is not None:
                bad |= wrong
        if field.name in self._required and column.null_count:
            bad |= np.asarray(column.is_null().to_numpy(zero_copy_only=False), np.bool_)
        return column if column.type == field.type else column.cast(field.type)

    def _decode(self, values: Sequence[bytes]) -> Decoded:
        """Decode the fields that columns are read from.

        Fields that are dropped are read too, in the type that they have in the first records: with all fields known, records
        of one form are read at once. Where many turn out to be of other types, they are no longer read.
        """
        if self._decoder is None:
            self._decoder = self._decoder_of(self._dropped(values[:SAMPLED]) if self._reads_dropped else {})
        decoded = self._decoder.decode(values)
        if self._reads_dropped and len(decoded.rejected) * MOST_OF_OTHERS > len(values):
            self._reads_dropped, self._decoder = False, None
        return decoded

    def _decoder_of(self, dropped: Mapping[str, IcebergType]) -> JsonDecoder:
        kinds = {**self._kinds, **dropped}
        fields = [NestedField(i + 1, name, kind, required=False) for i, (name, kind) in enumerate(kinds.items())]
        rules = replace(self._rules, injected=self._rules.injected - dropped.keys())
        return JsonDecoder(Schema(*fields), rules, create=False, row_reader=_Exact())

    def _dropped(self, values: Sequence[bytes]) -> dict[str, IcebergType]:
        """Return the types of fields that mean nothing, where all values have one."""
        found: dict[str, set[type]] = {}
        for value in values:
            try:
                record = parse(value, literals=False)
            except Malformed:
                continue
            for name, entry in record.items():
                if name not in self._kinds and (self._demands.closed or name in self._demands.hidden):
                    found.setdefault(name, set()).add(type(entry))
        kinds = {name: types - {type(None)} for name, types in found.items() if name not in self._demands.probed}
        known = {name: _KINDS.get(next(iter(types))) for name, types in kinds.items() if len(types) == 1}
        plain = {name: kind for name, kind in known.items() if kind is not None and _PLAIN_NAME.fullmatch(name)}
        return plain if len(plain) <= MAX_DROPPED else {}


class _Exact:
    """Reads no record: what cannot be read as columns goes the exact way."""

    def read(self, value: bytes) -> NoReturn:
        """Leave a record to the exact way."""
        raise InvalidRecord

    read_parsed = read

    def take_in(self) -> bool:
        """Say that the table lacks nothing."""
        return False


# A search for records that have one of some fields, without parsing any.


_TEXT: Final = re.compile(rb'"(?:[^"\\]|\\.)*+("\s*:)?', re.DOTALL)
"""A text, with what follows a key. What is not closed goes to the end, so that no part of a value is read twice."""

_BACKSLASH: Final = 0x5C


class Probes:
    """Looks for fields in JSON texts. A record that has the name elsewhere, as a text, is found too."""

    def __init__(self, fields: Collection[str]) -> None:
        self._names = [f'"{field}"'.encode() for field in sorted(fields)]

    def rows(self, values: Sequence[bytes]) -> Mask:
        """Return which values may have one of the fields."""
        found = np.zeros(len(values), np.bool_)
        if not self._names:
            return found
        buffer = packed(values)
        filled = np.flatnonzero(buffer.ends > buffer.starts)
        spans = _Spans(buffer.starts[filled], buffer.ends[filled])
        for name in self._names:
            for row in spans.with_part(buffer, name):
                found[filled[row]] = True
        for row in filled[spans.with_byte(buffer, _BACKSLASH)].tolist():
            found[row] = found[row] or _has_escaped_key(values[row])
        return found


class _Spans:
    """Where values begin and end in one text, in ascending order."""

    def __init__(self, starts: np.ndarray[Any, Any], ends: np.ndarray[Any, Any]) -> None:
        self._starts = starts
        self._ends = ends

    def with_part(self, buffer: Packed, part: bytes) -> Iterator[int]:
        """Yield the values that contain some bytes, each once."""
        place = find(buffer.text, part)
        while place >= 0:
            row = int(np.searchsorted(self._starts, place, "right")) - 1
            after = place + 1  # what is between two values means nothing
            if row >= 0 and place + len(part) <= self._ends[row]:
                yield row
                after = int(self._ends[row])
            place = find(buffer.text, part, after)

    def with_byte(self, buffer: Packed, byte: int) -> np.ndarray[Any, Any]:
        """Return the values that contain a byte, each once."""
        if byte not in buffer.text:
            return np.zeros(0, np.int64)
        places = np.flatnonzero(buffer.data == byte)
        rows = np.searchsorted(self._starts, places, "right") - 1
        return np.unique(rows[(rows >= 0) & (places < self._ends[rows])])


def _has_escaped_key(value: bytes) -> bool:
    """Say whether a value has a key with an escape, which may spell any name."""
    return any(text[1] is not None and b"\\" in text[0] for text in _TEXT.finditer(value))


# Rows of one table from records whose fields a chain of transforms changes.


class FieldRows:
    """Decodes the records of a table: as columns where that is exact, else value by value.

    ``needs`` and what they mean are those of the table's converter.
    """

    def __init__(
        self, steps: Sequence[EachValue], table: TableConverter, converters: Converters, plan: FieldPlan | None
    ) -> None:
        """``table``: the converter of the table, for values as the steps leave them. ``plan``: None where there is none."""
        self._steps = steps
        self._table = table
        self._readers = Readers(value_reader(converters), UNREAD.keys)
        self._plan = plan

    def decode(self, records: Records) -> Decoded:
        """Decode records, none of them a tombstone. Raises SchemaConflict, as the table's converter does."""
        if self._plan is None or self._table.needs:
            return self._exactly(records)
        rows, is_exact = self._plan.read(records)
        if not is_exact.any():
            return Decoded(rows, (), len(records), len(records))
        exact = np.flatnonzero(is_exact)
        decoded = self._exactly(records.select(exact.tolist()))
        rejected = tuple(one.at(int(exact[one.index])) for one in decoded.rejected)
        table = None if decoded.table is None else _merged(rows, decoded.table, is_exact, rejected)
        return Decoded(table, rejected, len(records) - len(exact), len(records))

    def _exactly(self, records: Records) -> Decoded:
        batch = ParsedBatch.unread(records, self._readers).with_objects()
        for step in self._steps:
            batch = step.apply(batch)
        decoded = self._table.decode(batch.values)
        rejected = [*batch.rejected, *(one.at(batch.places[one.index]) for one in decoded.rejected)]
        return Decoded(decoded.table, tuple(sorted(rejected, key=lambda one: one.index)), 0, len(records))


def _merged(rows: pa.Table, exact: pa.Table, is_exact: Mask, rejected: Sequence[Rejected]) -> pa.Table:
    """Join the rows of both ways in the order of their records."""
    kept = np.ones(len(is_exact), np.bool_)
    kept[[one.index for one in rejected]] = False
    order = np.empty(len(is_exact), np.int64)
    order[~is_exact] = np.arange(rows.num_rows)
    order[is_exact & kept] = rows.num_rows + np.arange(exact.num_rows)
    return pa.concat_tables([rows, exact]).take(pa.array(order[kept]))
