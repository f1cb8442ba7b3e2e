"""Records of texts as Avro, for the contract suite of converters: a schema for each set of fields."""

from __future__ import annotations

from floe.config.converters.base import ConverterSpec
from floe.registry.exceptions import UnknownSchema
from floe.registry.schema import RegisteredSchema
from floe_job.convert.avro.decoder import AvroDecoder
from floe_job.convert.avro.options import AvroOptions
from floe_job.convert.context import ConverterContext
from floe_job.convert.typed.converters import TypedConverters
from floe_job.convert.typed.frames import Framing
from tests.support.avro import varint
from tests.support.job.avro_orders import registered

KIND = "avro"
_FIELDS: list[tuple[str, ...]] = []


def encode(record: dict[str, str]) -> bytes:
    """Write a record of texts with the id of its schema, which is registered."""
    fields = tuple(record)
    if fields not in _FIELDS:
        _FIELDS.append(fields)
    texts = [varint(len(text.encode())) + text.encode() for text in record.values()]
    return b"\x00" + _FIELDS.index(fields).to_bytes(4, "big") + b"".join(texts)


def schema_of(schema_id: int) -> RegisteredSchema:
    """Return the schema of an id."""
    if schema_id >= len(_FIELDS):
        problem = f"the registry has no schema {schema_id}"
        raise UnknownSchema(problem, schema_id)
    fields = ", ".join(f'{{"name": "{name}", "type": "string"}}' for name in _FIELDS[schema_id])
    return registered(f'{{"type": "record", "name": "R", "fields": [{fields}]}}')


def converters(spec: ConverterSpec, context: ConverterContext) -> TypedConverters:
    """Make the converters."""
    return TypedConverters(lambda: AvroDecoder(Framing.ID_OF_4_BYTES, schema_of, AvroOptions()))
