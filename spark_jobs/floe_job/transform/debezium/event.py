"""Change events with a schema, one by one."""

from __future__ import annotations

from typing import Any

from floe.config.transforms.debezium.deletes import Deletes
from floe.config.transforms.debezium.new_record_state import NewRecordState
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.exceptions import TransformRefused
from floe_job.transform.debezium.event_parts import locate
from floe_job.transform.debezium.header_bytes import header_bytes
from floe_job.transform.debezium.outcome import AFTER, BEFORE, DELETED, Outcome
from floe_job.transform.debezium.rows import Rows, routed
from floe_job.transform.requirements import required_struct

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
        self._rows: dict[str, Rows | TransformRefused] = {}
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

    def rows(self, state: str) -> Rows:
        """Return what becomes of the rows of a state. Raises TransformRefused where there are none."""
        if state not in self._rows:
            try:
                flag = "true" if state == BEFORE else "false"
                self._rows[state] = Rows.of(self._options, self.schema, state, flag)
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
