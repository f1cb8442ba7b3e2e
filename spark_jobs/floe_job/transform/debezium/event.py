"""Change events with a schema, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from floe.config.transforms.debezium import Deletes, EventReference, NewRecordState
from floe_job.connect.schema import ABSENT, ConnectSchema, Kind
from floe_job.exceptions import TransformRefused
from floe_job.transform.struct_fields import defaults_of, filled, in_java, required_struct, shown, struct_like
from floe_job.types.header_texts.header_text import header_text

SUFFIX = ".Envelope"
"""How the schemas of change events are named at the end."""


def is_event(schema: ConnectSchema) -> bool:
    """Return whether values of a schema are change events."""
    return schema.name is not None and schema.name.endswith(SUFFIX)


class TypedEvents:
    """What becomes of the events of one schema."""

    def __init__(self, options: NewRecordState, schema: ConnectSchema) -> None:
        """Raises TransformRefused where all events of the schema are refused."""
        required_struct(schema, "a change event")
        self.schema = schema
        self.fields = dict(schema.fields)
        self.headers = locate(options.headers, schema)
        self._options = options
        self._rows: dict[str, StateRows | TransformRefused] = {}
        self._required(AFTER)

    def outcome(self, event: dict[str, Any]) -> Outcome | None:
        """Return what becomes of an event; None for one that is left out. Raises TransformRefused."""
        headers = tuple((one.name, header_bytes(one.schema, one.value(event))) for one in self.headers)
        after = self._state(event, AFTER)
        if after is not None:
            return self._row(event, after, AFTER, headers)
        before = self._state(event, BEFORE)
        if before is None or self._options.deletes is Deletes.DROP:
            return None
        if self._options.deletes is Deletes.TOMBSTONE:
            return Outcome(None, None, self._topic(before, BEFORE), headers, is_change=True)
        return self._row(event, before, BEFORE, headers)

    def rows(self, state: str) -> StateRows:
        """Return what becomes of the rows of a state. Raises TransformRefused where there are none."""
        if state not in self._rows:
            try:
                flag = "true" if state == BEFORE else "false"
                self._rows[state] = StateRows.of(self._options, self.schema, state, flag)
            except TransformRefused as error:
                self._rows[state] = error
        found = self._rows[state]
        if isinstance(found, TransformRefused):
            raise found
        return found

    def require_route(self, state: str) -> None:
        """Raise TransformRefused unless the field that routes is a text of a state."""
        inner = self._required(state)
        required_struct(inner, f"route.by.field in {state!r} of an event")
        if self._options.route_by == DELETED and state == AFTER and self._options.deletes is Deletes.REWRITE:
            return
        field = dict(inner.fields).get(self._options.route_by)
        if field is None or field.kind is not Kind.STRING:
            problem = f"route.by.field names {self._options.route_by!r}, and the rows have no text of this name"
            raise TransformRefused(problem)

    def _row(self, event: dict[str, Any], state: Any, name: str, headers: Any) -> Outcome:
        rows = self.rows(name)
        row = rows.row(event, state)
        topic = self._topic(row if name == AFTER else state, name)
        fixed = tuple(one.name for one in rows.added) if name == BEFORE else ()
        return Outcome(row, rows.schema, topic, headers, is_change=True, fixed=fixed)

    def _topic(self, row: Any, name: str) -> str | None:
        if not self._options.route_by:
            return None
        self.require_route(name)
        return routed(row[self._options.route_by])

    def _state(self, event: dict[str, Any], name: str) -> Any:
        self._required(name)
        return event[name]

    def _required(self, name: str) -> ConnectSchema:
        if name not in self.fields:
            problem = f"the event has no field {name!r}"
            raise TransformRefused(problem)
        return self.fields[name]


# Where the parts of change events are that ``add.fields`` and ``add.headers`` name.


@dataclass(frozen=True)
class EventPart:
    """A part of the events of one schema. ``struct``: what it is in; null where that is null, None for the event itself.

    ``is_at_top``: it is beside the struct, as the struct has no such field. ``schema``: optional, as it is to be added.
    """

    name: str
    field: str
    struct: str | None
    is_at_top: bool
    schema: ConnectSchema

    def value(self, event: Mapping[str, Any]) -> Any:
        """Return its value in an event."""
        parent = event if self.struct is None else event[self.struct]
        if parent is None:
            return None
        return event[self.field] if self.is_at_top else parent[self.field]

    def column(self, events: pa.StructArray) -> pa.Array:
        """Return its values in a column of events, none of which is null."""
        if self.struct is None:
            return events.field(self.field)
        parent = events.field(self.struct)
        if not self.is_at_top:
            index = parent.type.get_field_index(self.field)
            return parent.flatten()[index] if parent.null_count else parent.field(index)
        column = events.field(self.field)
        return pc.if_else(parent.is_valid(), column, pa.scalar(None, column.type)) if parent.null_count else column


def locate(references: Iterable[EventReference], schema: ConnectSchema) -> tuple[EventPart, ...]:
    """Find what there is of the parts in the events of a schema. Raises TransformRefused for a struct that there is not."""
    found = (_locate(reference, schema) for reference in references)
    return tuple(one for one in found if one is not None)


def _locate(reference: EventReference, schema: ConnectSchema) -> EventPart | None:
    top = dict(schema.fields)
    fields = top
    if reference.struct is not None:
        parent = top.get(reference.struct)
        if parent is None or parent.kind is not Kind.STRUCT:
            problem = f"the event has no struct {reference.struct!r}, where {reference.field!r} would be"
            raise TransformRefused(problem)
        fields = dict(parent.fields)
    is_at_top = reference.struct is not None and reference.field not in fields
    inner = (top if is_at_top else fields).get(reference.field)
    if inner is None:
        return None
    made = replace(inner, optional=True, default=ABSENT)
    return EventPart(reference.name, reference.field, reference.struct, is_at_top, made)


def value_in(reference: EventReference, event: Mapping[str, Any]) -> Any:
    """Return the value of a part in an event without a schema; ABSENT where there is none."""
    if reference.struct is None:
        return event.get(reference.field, ABSENT)
    parent = event.get(reference.struct, ABSENT)
    if isinstance(parent, dict) and reference.field in parent:
        return parent[reference.field]
    if parent is None:
        return None
    return event.get(reference.field, ABSENT)


# What becomes of a change event.


AFTER, BEFORE, OP, SOURCE = "after", "before", "op", "source"
"""Fields of an event."""

DELETED: Final = "__deleted"
"""The field that says of a row whether it was deleted: "true" or "false"."""


@dataclass(frozen=True)
class Outcome:
    """The value, its schema, and what else becomes of a record. ``topic``: None for its own; ``headers``: new ones.

    ``is_change``: it was an event, so that a header may name fields to leave out, but for those that are ``fixed``.
    """

    value: Any
    schema: ConnectSchema | None = None
    topic: str | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    is_change: bool = False
    fixed: tuple[str, ...] = ()


# Values as the bytes of headers.


def header_bytes(schema: ConnectSchema | None, value: Any) -> bytes | None:
    """Return what a header holds of a value; None for null. Raises TransformRefused for what no header can hold."""
    try:
        return header_text(schema, value)
    except ValueError as error:
        problem = f"{error}"
        raise TransformRefused(problem) from error


# The rows in change events with a schema: which fields they get.


_NESTED: Final = (Kind.STRUCT, Kind.MAP)
_FLAG: Final = ConnectSchema(Kind.STRING, optional=True)
BLANKS: Final = "".join(map(chr, range(33)))
"""What Java counts as blank."""


@dataclass(frozen=True)
class StateRows:
    """What becomes of the rows of one state, before or after the change.

    ``schema``: of the rows made. ``names``: of the fields that they have. ``flag``: the value of ``__deleted``, None for no
    such field. ``added``: the parts of the event that follow. ``absent``: parts that no field can have; a row without them
    is made. ``defaults``: of fields that get them for null.
    """

    schema: ConnectSchema
    names: tuple[str, ...]
    flag: str | None
    added: tuple[EventPart, ...]
    absent: tuple[EventPart, ...]
    defaults: dict[str, Any]

    @classmethod
    def of(cls, options: NewRecordState, event: ConnectSchema, state: str, flag: str) -> StateRows:
        """Compile those of a field of the event. Raises TransformRefused where no such row can be made."""
        inner = dict(event.fields)[state]
        required_struct(inner, f"rows from {state!r} of an event")
        if dict(event.fields).get(OP, inner).kind is not Kind.STRING:
            problem = f"the event has no text {OP!r}, which says what kind of change it is"
            raise TransformRefused(problem)
        is_rewritten = options.deletes is Deletes.REWRITE
        own = (*inner.fields, *([(DELETED, _FLAG)] if is_rewritten else []))
        located = locate(options.fields, event)
        added = tuple(one for one in located if one.schema.kind not in _NESTED)
        absent = tuple(one for one in located if one.schema.kind in _NESTED)
        fields = (*own, *((one.name, one.schema) for one in added))
        if any(not name for name, _ in fields):
            problem = "the row would have a field without a name"
            raise TransformRefused(problem)
        made = struct_like(inner, fields, optional=False)
        defaults = defaults_of(inner, is_on=options.fills_defaults)
        names = tuple(name for name, _ in inner.fields)
        return cls(made, names, flag if is_rewritten else None, added, absent, defaults)

    def row(self, event: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
        """Make a row. Raises TransformRefused."""
        for one in self.absent:
            if one.value(event) is not None:
                problem = f"add.fields names {one.field!r}, which has fields of its own: name one of these"
                raise TransformRefused(problem)
        made = filled({name: state[name] for name in self.names}, self.defaults)
        if self.flag is not None:
            made[DELETED] = self.flag
        for one in self.added:
            made[one.name] = one.value(event)
        return made


def routed(value: Any) -> str | None:
    """Return the topic that a field names; None where it is null or blank. Raises TransformRefused for what is no text."""
    text = in_java(value)
    if text is None:
        return None
    if not isinstance(text, str):
        problem = f"route.by.field names a field that has no text, but {shown(value)}"
        raise TransformRefused(problem)
    return text if text.strip(BLANKS) else None


# Change events without a schema: JSON objects that have what such an event has.


def is_plain_event(value: Any) -> bool:
    """Return whether a value is an event: it has a text ``op``, an object ``source``, and ``before`` or ``after``."""
    return (
        type(value) is dict
        and isinstance(value.get(OP), str)
        and type(value.get(SOURCE)) is dict
        and (AFTER in value or BEFORE in value)
    )


def plain_outcome(options: NewRecordState, event: dict[str, Any]) -> Outcome | None:
    """Return what becomes of an event; None for one that is left out. Raises TransformRefused."""
    parts = ((one.name, value_in(one, event)) for one in options.headers)
    headers = tuple((name, header_bytes(None, value)) for name, value in parts if value is not ABSENT)
    if event.get(AFTER) is not None:
        state, name = event[AFTER], AFTER
    elif event.get(BEFORE) is None or options.deletes is Deletes.DROP:
        return None
    else:
        state, name = event[BEFORE], BEFORE
    if type(state) is not dict:
        problem = (
            f"{name!r} of the event is no object, but {shown(state)}: documents of MongoDB need "
            "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState"
        )
        raise TransformRefused(problem)
    if name == BEFORE and options.deletes is Deletes.TOMBSTONE:
        return Outcome(None, None, _topic(options, state), headers, is_change=True)
    row = dict(state)
    if options.deletes is Deletes.REWRITE:
        row[DELETED] = "true" if name == BEFORE else "false"
    for one in options.fields:
        value = value_in(one, event)
        if value is not ABSENT:
            row[one.name] = value
    topic = _topic(options, row if name == AFTER else state)
    fixed = tuple(one.name for one in options.fields) if name == BEFORE else ()
    return Outcome(row, None, topic, headers, is_change=True, fixed=fixed)


def _topic(options: NewRecordState, row: dict[str, Any]) -> str | None:
    if not options.route_by:
        return None
    if options.route_by not in row:
        problem = f"route.by.field names {options.route_by!r}, and the row has no field of this name"
        raise TransformRefused(problem)
    return routed(row[options.route_by])
