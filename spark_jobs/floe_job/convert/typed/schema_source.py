"""Where decoders have their schemas from: a schema registry, by the id in a record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from floe.registry import exceptions as registry
from floe.registry.schema import RegisteredSchema, SchemaType
from floe_job.exceptions import UnknownSchema, UnusableSchema

SchemaSource = Callable[[int], RegisteredSchema]
"""Returns the schema of an id, as ``floe.registry.client.SchemaRegistry.schema`` does, with its errors."""

ENCRYPTED: Final = "ENCRYPT"
"""How the types of rules begin by which values are encrypted."""


def schema_of_type(source: SchemaSource, schema_id: int, kind: SchemaType) -> RegisteredSchema:
    """Return the schema of an id.

    Raises UnknownSchema, and UnusableSchema for one of another type and for encrypted values. What else the registry
    raises ends the task.
    """
    try:
        found = source(schema_id)
    except registry.UnknownSchema as error:
        raise UnknownSchema(str(error)) from None
    except registry.UnusableSchema as error:
        raise UnusableSchema(str(error)) from None
    if found.schema.type not in (None, kind):
        problem = f"schema {schema_id}: it is of the type {found.schema.type}, and the converter reads {kind}"
        raise UnusableSchema(problem)
    if any(rule.startswith(ENCRYPTED) for rule in found.schema.rules):
        problem = f"schema {schema_id}: by its rules its values are encrypted, and floe does not decrypt them"
        raise UnusableSchema(problem)
    return found
