"""What transforms require of a value, as Kafka Connect's ``Requirements`` do."""

from __future__ import annotations

from typing import Any

from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.exceptions import TransformRefused, clip

_SHOWN_CHARACTERS = 60


def required_object(value: Any, purpose: str) -> dict[str, Any]:
    """Return a value that is an object. Raises TransformRefused for another."""
    if type(value) is not dict:
        problem = f"only an object has fields for {purpose}, and the value is {shown(value)}"
        raise TransformRefused(problem)
    return value


def required_struct(schema: ConnectSchema, purpose: str) -> None:
    """Raise TransformRefused unless values of the schema are structs."""
    if schema.kind is not Kind.STRUCT:
        problem = f"only a struct has fields for {purpose}, and the value's schema is {schema.kind.value}"
        raise TransformRefused(problem)


def shown(value: Any) -> str:
    """Return a value, shortened, as an error names it."""
    return clip(repr(value), _SHOWN_CHARACTERS)
