"""Records as Apicurio's JSON converter writes them, and their registry."""

from __future__ import annotations

import json
from typing import Any

from floe.config.converters.base import API, ConverterSpec
from floe.config.converters.kinds import EXT_JSON
from floe.config.properties import Properties
from floe.schema_registry.exceptions import SchemaMissing
from floe.schema_registry.schema import RegisteredSchema, SchemaText
from floe_job.convert.context import ConverterContext
from floe_job.convert.ext_json import ExtJsonDecoder

SPEC = ConverterSpec(EXT_JSON, Properties({API: "apicurio", "apicurio.registry.url": "http://registry"}))
_FIELDS: list[tuple[str, ...]] = []


def struct(**fields: Any) -> dict[str, Any]:
    """Return the schema of a struct in Connect's JSON: the type, or the schema, of each field."""
    schemas = {name: {"type": one} if isinstance(one, str) else one for name, one in fields.items()}
    return {"type": "struct", "fields": [{**one, "field": name} for name, one in schemas.items()]}


def written(payload: Any, schema_id: int = 7) -> bytes:
    """Write a payload with the id of its schema."""
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return f'{{"schemaId":{schema_id},"payload":{text}}}'.encode()


def registered(schema: Any) -> RegisteredSchema:
    """Return a schema as Apicurio's API has it: without a type."""
    return RegisteredSchema(SchemaText(None, schema if isinstance(schema, str) else json.dumps(schema)))


def decoder(schemas: dict[int, Any] | None = None, *, fill_defaults: bool = True) -> ExtJsonDecoder:
    """Return a decoder of records whose schemas are given by their ids; 7: that of ``order``."""
    known = schemas or {7: struct(id="int64", note={"type": "string", "optional": True}, tags=_TAGS)}

    def schema_of(schema_id: int) -> RegisteredSchema:
        if schema_id not in known:
            problem = f"the registry has no schema {schema_id}"
            raise SchemaMissing(problem, schema_id)
        return registered(known[schema_id])

    return ExtJsonDecoder(schema_of, fill_defaults=fill_defaults)


_TAGS = {"type": "array", "items": {"type": "string"}}


def read(number: int) -> dict[str, Any]:
    """Return the row that an order is read as."""
    return {"id": number, "note": "é" if number % 2 else None, "tags": ["a"] * (number % 3)}


def order(number: int) -> bytes:
    """Write an order."""
    return written(read(number))


def encode(record: dict[str, str]) -> bytes:
    """Write a record of texts with the id of its schema, which is registered."""
    fields = tuple(record)
    if fields not in _FIELDS:
        _FIELDS.append(fields)
    return written(record, _FIELDS.index(fields))


def _schema_of(schema_id: int) -> RegisteredSchema:
    if not 0 <= schema_id < len(_FIELDS):
        problem = f"the registry has no schema {schema_id}"
        raise SchemaMissing(problem, schema_id)
    return registered(struct(**dict.fromkeys(_FIELDS[schema_id], "string")))


CONTEXT = ConverterContext(lambda _: _schema_of)

BAD = (
    b"",
    b"null",
    order(1)[:-1],
    order(1) + b"}",
    written(read(1), 8),
    written({**read(1), "id": "1"}),
    b'{"schemaId":"7","payload":{}}',
    b'{"schemaId":7}',
    b'{"payload":{}}',
)
