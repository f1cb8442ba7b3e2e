"""Debezium's events with a schema, as the sink's ``DebeziumTransform`` writes them, one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floe_job.connect import logical
from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.typed.base import Places, TypedPart
from floe_job.convert.typed.whole_values import TypedColumns
from floe_job.exceptions import TransformRefused
from floe_job.transform.iceberg import cdc
from floe_job.transform.struct_fields import in_java, required_struct, shown, struct_like
from floe_job.types.typed_values import Moment

MAX_MILLIS: Final = (2**63 - 1) // 1000
"""Milliseconds since 1970, of which floe holds the microseconds."""
OP, TS, SOURCE, DATABASE, SCHEMA, TABLE = "op", "ts_ms", "source", "db", "schema", "table"
STATES: Final = {cdc.INSERT: "after", cdc.UPDATE: "after", cdc.DELETE: "before"}


class TypedChange:
    """The events of one schema. ``database``: the field of ``source`` that has the name of the database."""

    def __init__(self, schema: ConnectSchema) -> None:
        """Raises TransformRefused where none of its events can be written."""
        required_struct(schema, "a change event")
        self.schema = schema
        self.fields = dict(schema.fields)
        self._field(OP)
        if self._field(TS).kind is not Kind.INT64 or self._field(TS).name == logical.TIMESTAMP:
            problem = (
                f"{TS!r} of the event has the type {shown(self._field(TS).kind.value)}, and has to be a plain int64"
            )
            raise TransformRefused(problem)
        required_struct(self._field(SOURCE), f"the {SOURCE!r} of an event")
        source = dict(self._field(SOURCE).fields)
        self.database = SCHEMA if SCHEMA in source else DATABASE
        for name in (self.database, TABLE):
            if name not in source or source[name].kind is not Kind.STRING:
                problem = f"{SOURCE!r} of the event has no text {name!r}"
                raise TransformRefused(problem)
        self._written: dict[tuple[str, int], tuple[ConnectSchema | None, WrittenState]] = {}

    def written(self, state: str, key: ConnectSchema | None) -> WrittenState:
        """Return what is written of a state, for keys of a schema. Raises TransformRefused where nothing can be."""
        known = self._written.get((state, id(key)))
        if known is None:
            known = self._written[state, id(key)] = (key, WrittenState.of(self._field(state), key))
        return known[1]

    def value(
        self, pattern: str, event: dict[str, Any], offset: int, key: Any, key_schema: Any
    ) -> tuple[Any, ConnectSchema]:
        """Return an event as it is written, and its schema. Raises TransformRefused."""
        op = event[OP]
        if op is None:
            problem = f"{OP!r} of the event is null, and has to say what kind of change it is"
            raise TransformRefused(problem)
        operation = cdc.operation_of(op)
        state = STATES[operation]
        written = self.written(state, key_schema)
        metadata = {cdc.OP: operation, cdc.TS: _moment(event[TS]), cdc.OFFSET: offset}
        metadata |= self._names(pattern, event[SOURCE])
        if key_schema is not None:
            if key is None and not key_schema.optional and not key_schema.has_default:
                problem = "the key of the record is null, and its schema does not allow it"
                raise TransformRefused(problem)
            metadata[cdc.KEY] = key
        row = event[state]
        if row is None and written.names:
            problem = f"{state!r} of the event is null, and the operation is {shown(op)}"
            raise TransformRefused(problem)
        made = {name: row[name] for name in written.names}
        made[cdc.CDC] = metadata
        return made, written.schema

    def _names(self, pattern: str, source: dict[str, Any] | None) -> dict[str, str]:
        if source is None:
            problem = f"{SOURCE!r} of the event is null, and has to name the table"
            raise TransformRefused(problem)
        database, table = _text(source[self.database]), _text(source[TABLE])
        return {cdc.SOURCE: cdc.source_of(database, table), cdc.TARGET: cdc.target_of(pattern, database, table)}

    def _field(self, name: str) -> ConnectSchema:
        if name not in self.fields:
            problem = f"the event has no field {name!r}"
            raise TransformRefused(problem)
        return self.fields[name]


class WrittenState(NamedTuple):
    """What is written of the rows of a state: their schema, and the names of their fields."""

    schema: ConnectSchema
    names: tuple[str, ...]

    @classmethod
    def of(cls, state: ConnectSchema, key: ConnectSchema | None) -> WrittenState:
        """Compile it. Raises TransformRefused."""
        required_struct(state, "a row")
        names = tuple(name for name, _ in state.fields)
        if cdc.CDC in names:
            problem = f"the row has a field {cdc.CDC!r} already"
            raise TransformRefused(problem)
        fields = (*state.fields, (cdc.CDC, cdc.cdc_schema(key)))
        return cls(struct_like(state, fields, optional=False), names)


def _moment(millis: Any) -> Moment:
    millis = in_java(millis)
    if type(millis) is not int or abs(millis) > MAX_MILLIS:
        problem = f"{TS!r} of the event is {shown(millis)}, and has to be a time in milliseconds"
        raise TransformRefused(problem)
    return Moment(millis * 1000)


def _text(value: Any) -> str | None:
    text = in_java(value)
    return None if text is None else str(text)


# Debezium's events with a schema, as the sink's ``DebeziumTransform`` writes them, as columns.


Rows = np.ndarray[Any, np.dtype[np.int64]]


class KeyColumns:
    """The keys of a batch as columns: those of each schema together, and those without one."""

    def __init__(self, keys: TypedColumns | None, count: int) -> None:
        """``keys``: None for a batch whose keys have no schema."""
        self._parts = () if keys is None else keys.parts
        self._part_of = np.full(count, -1, np.int64)
        self._row_of = np.zeros(count, np.int64)
        for index, part in enumerate(self._parts):
            self._part_of[part.places] = index
            self._row_of[part.places] = np.arange(len(part.places))

    def groups(self, places: Places) -> list[tuple[ConnectSchema | None, Rows, pa.Array | None]]:
        """Return for each schema which of the records, by place, have keys of it, and these keys."""
        parts = self._part_of[places]
        found: list[tuple[ConnectSchema | None, Rows, pa.Array | None]] = []
        for index in np.unique(parts).tolist():
            rows = np.flatnonzero(parts == index)
            if index < 0:
                found.append((None, rows, None))
                continue
            part, of_key = self._parts[index], self._row_of[places[rows]]
            is_all = len(of_key) == len(part.column) and bool((of_key == np.arange(len(of_key))).all())
            found.append((part.schema, rows, part.column if is_all else part.column.take(pa.array(of_key))))
        return found


def written(
    pattern: str, change: TypedChange, part: TypedPart, keys: KeyColumns, offsets: Places
) -> list[TypedPart] | None:
    """Return the events of a part as they are written; None where they have to be seen one by one.

    Raises TransformRefused where some are refused: they have to be seen one by one too.
    """
    op = part.column.field(OP)
    if op.null_count or not pa.types.is_large_string(op.type) or part.column.field(TS).type != pa.int64():
        return None
    if part.column.field(SOURCE).null_count:
        return None
    is_delete = pc.equal(op, "d").to_numpy(zero_copy_only=False)
    found = []
    for operation, mask in ((cdc.INSERT, ~is_delete), (cdc.DELETE, is_delete)):
        rows = np.flatnonzero(mask)
        for schema, some, key in keys.groups(part.places[rows]) if len(rows) else ():
            chosen = rows[some]
            places = part.places[chosen]
            events = _Chosen(part.column, None if len(chosen) == len(part.column) else pa.array(chosen))
            rows_of_state = change.written(STATES[operation], schema)
            made = _columns(pattern, change, events, operation, rows_of_state, key, offsets[places])
            if made is None:
                return None
            found.append(TypedPart(rows_of_state.schema, places, made))
    return found


@dataclass(frozen=True)
class _Chosen:
    """Some of the events of a column; ``rows``: None for all. Only what is read of them is copied."""

    events: pa.StructArray
    rows: pa.Array | None

    def field(self, *path: str) -> pa.Array:
        """Return a field; structs that it is in are not null."""
        column = self.events
        for name in path:
            column = column.field(name)
        return column if self.rows is None else column.take(self.rows)


def _columns(
    pattern: str,
    change: TypedChange,
    events: _Chosen,
    operation: str,
    written: WrittenState,
    key: pa.Array | None,
    offsets: Places,
) -> pa.Array | None:
    row, times = events.field(STATES[operation]), events.field(TS)
    if row.null_count or times.null_count or (key is not None and key.null_count):
        return None
    span = pc.min_max(times).as_py()
    if span["min"] < -MAX_MILLIS or span["max"] > MAX_MILLIS:
        return None
    database, table = events.field(SOURCE, change.database), events.field(SOURCE, TABLE)
    if pattern and (database.null_count or table.null_count):
        return None
    metadata = [
        _operations(operation, events.field(OP)),
        pc.multiply(times, 1000).cast(pa.timestamp("us", "UTC")),
        pa.array(offsets, pa.int64()),
        _named(database, table, cdc.source_of),
        _named(database, table, lambda *names: cdc.target_of(pattern, *names)),
        *(() if key is None else (key,)),
    ]
    kind = arrow_type(dict(written.schema.fields)[cdc.CDC])
    columns = [row.field(index) for index in range(len(written.names))]
    columns.append(pa.StructArray.from_arrays(metadata, fields=list(kind)))
    names = (*written.names, cdc.CDC)
    fields = [pa.field(name, column.type) for name, column in zip(names, columns, strict=True)]
    return pa.StructArray.from_arrays(columns, fields=fields)


def _operations(operation: str, op: pa.Array) -> pa.Array:
    text = pa.large_string()
    if operation == cdc.DELETE:
        return pa.repeat(pa.scalar(cdc.DELETE, text), len(op))
    return pc.if_else(pc.equal(op, "u"), pa.scalar(cdc.UPDATE, text), pa.scalar(cdc.INSERT, text))


def _named(database: pa.Array, table: pa.Array, name: Callable[[str | None, str | None], str]) -> pa.Array:
    """Return a name for each record; of most topics there are few."""
    first, second = (column.dictionary_encode("encode") for column in (database, table))
    databases, tables = first.dictionary.to_pylist(), second.dictionary.to_pylist()
    if len(databases) == len(tables) == 1:
        return pa.repeat(pa.scalar(name(databases[0], tables[0]), pa.large_string()), len(database))
    codes = first.indices.to_numpy().astype(np.int64) * len(tables) + second.indices.to_numpy()
    known, inverse = np.unique(codes, return_inverse=True)
    texts = [name(databases[code // len(tables)], tables[code % len(tables)]) for code in known.tolist()]
    return pa.array(texts, pa.large_string()).take(pa.array(inverse.astype(np.int64)))
