"""A table's columns, read from JSON without schemas and changed as a chain of transforms changes the fields."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NoReturn

import numpy as np
import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import BooleanType, DoubleType, IcebergType, LongType, NestedField, StringType

from floe_job.convert.base import Decoded
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.convert.json.parse import parse
from floe_job.exceptions import InvalidRecord, Malformed
from floe_job.schema.rules import ColumnRules
from floe_job.source.record_batch import Records
from floe_job.transform.field_steps.demand import Demand, Demands, Mask
from floe_job.transform.field_steps.probes import Probes
from floe_job.transform.value_change import ValueChange

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
