"""Fields that a header of the record names, and that are left out of its value and its key."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from floe.config.transforms.debezium.new_record_state import NewRecordState
from floe.config.transforms.kafka.replace_field import ReplaceField
from floe_job.connect.schema import ConnectSchema
from floe_job.exceptions import TransformRefused
from floe_job.source.messages import Headers
from floe_job.transform.changed_records import ChangedRecords
from floe_job.transform.debezium.outcome import Outcome
from floe_job.transform.kafka.replace_field import ReplaceFieldChange
from floe_job.transform.requirements import required_struct, shown


def dropped_names(options: NewRecordState, headers: Headers) -> list[Any]:
    """Return the names in the header; none without it. Raises TransformRefused for a header that is no list."""
    given = next((value for name, value in headers if name == options.drop_header), None)
    if given is None:
        return []
    try:
        found = json.loads(given)
    except (ValueError, RecursionError):
        found = given
    if found is None:
        return []
    if not isinstance(found, list):
        problem = f"the header {shown(options.drop_header)} is no list of fields to leave out, but {shown(given)}"
        raise TransformRefused(problem)
    return found


def leave_out_fields(
    options: NewRecordState, names: Sequence[Any], records: ChangedRecords, row: int, outcome: Outcome
) -> Outcome:
    """Leave fields out of a record's key, if they are to be, and out of what becomes of it. Raises TransformRefused."""
    if options.reads_keys and records.keys[row] is not None:
        records.set_key(row, *_without(options, names, records.keys[row], records.key_schemas[row]))
    left = [name for name in names if name not in outcome.fixed]
    value, schema = _without(options, left, outcome.value, outcome.schema)
    return replace(outcome, value=value, schema=schema)


def _without(
    options: NewRecordState, names: Sequence[Any], value: Any, schema: ConnectSchema | None
) -> tuple[Any, ConnectSchema | None]:
    """Return a value, or a key, without fields, and its schema. Raises TransformRefused."""
    if schema is not None and options.drops_optional:
        required_struct(schema, "fields to leave out")
        names = [name for name, inner in schema.fields if inner.optional and name in names]
    excluded = tuple(str(name) for name in names)
    if value is None or not excluded:
        return value, schema
    change = ReplaceFieldChange(ReplaceField(exclude=excluded))
    if schema is None:
        return change.plain(value, None), None
    made = change.typed(schema)
    return made.change(value, None), made.schema
