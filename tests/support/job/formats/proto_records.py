"""Records of texts as Protobuf, for the contract suite of converters: a schema for each set of fields."""

from __future__ import annotations

from floe.config.converters.base import API, ConverterSpec
from floe.config.converters.kinds import PROTOBUF
from floe.config.properties import Properties
from floe.schema_registry.exceptions import SchemaMissing
from floe.schema_registry.schema import RegisteredSchema
from floe_job.convert.context import ConverterContext
from tests.support.job.formats.random_messages import registered

CONFLUENT = ConverterSpec(
    PROTOBUF,
    Properties({API: "confluent", "schema.registry.url": "http://registry", "optional.for.nullables": "true"}),
)
"""Fields are required: by default all of Protobuf's are optional."""
APICURIO = ConverterSpec(
    PROTOBUF, Properties({API: "apicurio", "apicurio.registry.url": "http://registry/apis/registry/v3"})
)
INDEXES, NAME = b"\x00", b"\x03\x0a\x01R"
_FIELDS: list[tuple[str, ...]] = []


def encode(record: dict[str, str], before: bytes = INDEXES) -> bytes:
    """Write a record of short texts with the id of its schema, which is registered; ``before``: says which message it is."""
    fields = tuple(record)
    if fields not in _FIELDS:
        _FIELDS.append(fields)
    texts = [bytes([number << 3 | 2, len(text)]) + text.encode() for number, text in enumerate(record.values(), 1)]
    return b"\x00" + _FIELDS.index(fields).to_bytes(4, "big") + before + b"".join(texts)


def schema_of(schema_id: int) -> RegisteredSchema:
    """Return the schema of an id."""
    if not 0 <= schema_id < len(_FIELDS):
        problem = f"the registry has no schema {schema_id}"
        raise SchemaMissing(problem, schema_id)
    fields = "".join(f"string {name} = {number};" for number, name in enumerate(_FIELDS[schema_id], 1))
    return registered(f'syntax = "proto3"; message R {{ {fields} }}')


CONTEXT = ConverterContext(lambda _: schema_of)
