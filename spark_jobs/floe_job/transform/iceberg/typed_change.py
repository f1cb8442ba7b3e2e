"""Debezium's events with a schema, as the sink's ``DebeziumTransform`` writes them, one by one."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from floe_job.connect import logical
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.exceptions import TransformRefused
from floe_job.transform.iceberg import cdc
from floe_job.transform.requirements import required_struct, shown
from floe_job.transform.struct_fields import in_java, struct_like
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
        self._written: dict[tuple[str, int], tuple[ConnectSchema | None, Written]] = {}

    def written(self, state: str, key: ConnectSchema | None) -> Written:
        """Return what is written of a state, for keys of a schema. Raises TransformRefused where nothing can be."""
        known = self._written.get((state, id(key)))
        if known is None:
            known = self._written[state, id(key)] = (key, Written.of(self._field(state), key))
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


class Written(NamedTuple):
    """What is written of the rows of a state: their schema, and the names of their fields."""

    schema: ConnectSchema
    names: tuple[str, ...]

    @classmethod
    def of(cls, state: ConnectSchema, key: ConnectSchema | None) -> Written:
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
