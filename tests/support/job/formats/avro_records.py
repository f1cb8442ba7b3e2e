"""Records of texts as Avro, for the contract suite of converters: a schema for each set of fields."""

from __future__ import annotations

from floe.config.converters.base import API, ConverterSpec
from floe.config.converters.kinds import AVRO
from floe.config.properties import Properties
from floe.schema_registry.exceptions import SchemaMissing
from floe.schema_registry.schema import RegisteredSchema
from floe_job.convert.context import ConverterContext
from tests.support.avro import varint
from tests.support.job.formats.avro_orders import registered

CONFLUENT = ConverterSpec(AVRO, Properties({API: "confluent", "schema.registry.url": "http://registry"}))
APICURIO = ConverterSpec(AVRO, Properties({API: "apicurio", "apicurio.registry.url": "http://registry"}))
_FIELDS: list[tuple[str, ...]] = []


def encode(record: dict[str, str], nbytes: int = 4) -> bytes:
    """Write a record of texts with the id of its schema, which is registered; ``nbytes``: of the id."""
    fields = tuple(record)
    if fields not in _FIELDS:
        _FIELDS.append(fields)
    texts = [varint(len(text.encode())) + text.encode() for text in record.values()]
    return b"\x00" + _FIELDS.index(fields).to_bytes(nbytes, "big") + b"".join(texts)


def schema_of(schema_id: int) -> RegisteredSchema:
    """Return the schema of an id."""
    if not 0 <= schema_id < len(_FIELDS):
        problem = f"the registry has no schema {schema_id}"
        raise SchemaMissing(problem, schema_id)
    fields = ", ".join(f'{{"name": "{name}", "type": "string"}}' for name in _FIELDS[schema_id])
    return registered(f'{{"type": "record", "name": "R", "fields": [{fields}]}}')


CONTEXT = ConverterContext(lambda _: schema_of)
