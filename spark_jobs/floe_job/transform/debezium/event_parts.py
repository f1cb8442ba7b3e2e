"""Where the parts of change events are that ``add.fields`` and ``add.headers`` name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from floe.config.transforms.debezium.reference import Reference
from floe_job.connect.schema import ABSENT, ConnectSchema, Kind
from floe_job.exceptions import TransformRefused


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


def locate(references: Iterable[Reference], schema: ConnectSchema) -> tuple[EventPart, ...]:
    """Find what there is of the parts in the events of a schema. Raises TransformRefused for a struct that there is not."""
    found = (_locate(reference, schema) for reference in references)
    return tuple(one for one in found if one is not None)


def _locate(reference: Reference, schema: ConnectSchema) -> EventPart | None:
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


def value_in(reference: Reference, event: Mapping[str, Any]) -> Any:
    """Return the value of a part in an event without a schema; ABSENT where there is none."""
    if reference.struct is None:
        return event.get(reference.field, ABSENT)
    parent = event.get(reference.struct, ABSENT)
    if isinstance(parent, dict) and reference.field in parent:
        return parent[reference.field]
    if parent is None:
        return None
    return event.get(reference.field, ABSENT)
