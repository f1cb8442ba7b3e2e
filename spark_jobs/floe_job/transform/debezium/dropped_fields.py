"""Fields that a header of the record names, and that are left out of its value and its key."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from floe.config.transforms.debezium.new_record_state import NewRecordState
from floe.config.transforms.kafka.replace_field import ReplaceField
from floe_job.connect.schema import ConnectSchema
from floe_job.exceptions import TransformRefused
from floe_job.source.messages import Headers
from floe_job.transform.kafka.replace_field import ReplaceFieldChange
from floe_job.transform.required import required_struct, shown


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


def without(
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
