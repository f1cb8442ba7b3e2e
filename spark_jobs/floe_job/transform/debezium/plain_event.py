"""Change events without a schema: JSON objects that have what such an event has."""

from __future__ import annotations

from typing import Any

from floe.config.transforms.debezium.deletes import Deletes
from floe.config.transforms.debezium.new_record_state import NewRecordState
from floe_job.connect.schema import ABSENT
from floe_job.exceptions import TransformRefused
from floe_job.transform.debezium.event_parts import value_in
from floe_job.transform.debezium.header_bytes import header_bytes
from floe_job.transform.debezium.outcome import AFTER, BEFORE, DELETED, OP, SOURCE, Outcome
from floe_job.transform.debezium.rows import routed
from floe_job.transform.requirements import shown


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
