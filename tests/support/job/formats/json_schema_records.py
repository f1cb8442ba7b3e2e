"""Records of texts with a JSON Schema, for the contract suite of converters: a schema for each set of fields."""

from __future__ import annotations

from floe.config.converters.base import API, ConverterSpec
from floe.config.converters.kinds import JSON_SCHEMA
from floe.config.properties import Properties
from floe.schema_registry.exceptions import SchemaMissing
from floe.schema_registry.schema import RegisteredSchema
from floe_job.convert.context import ConverterContext
from tests.support.job.formats.json_schema_orders import framed, registered

SPEC = ConverterSpec(JSON_SCHEMA, Properties({API: "confluent", "schema.registry.url": "http://registry"}))
_FIELDS: list[tuple[str, ...]] = []


def encode(record: dict[str, str]) -> bytes:
    """Write a record of texts with the id of its schema, which is registered."""
    fields = tuple(record)
    if fields not in _FIELDS:
        _FIELDS.append(fields)
    return framed(record, _FIELDS.index(fields))


def schema_of(schema_id: int) -> RegisteredSchema:
    """Return the schema of an id."""
    if not 0 <= schema_id < len(_FIELDS):
        problem = f"the registry has no schema {schema_id}"
        raise SchemaMissing(problem, schema_id)
    return registered({"type": "object", "properties": {name: {"type": "string"} for name in _FIELDS[schema_id]}})


CONTEXT = ConverterContext(lambda _: schema_of)
