"""JSON with schemas of a registry, as Confluent's JsonSchemaConverter reads it."""

from __future__ import annotations

from floe.config.converters.base import ConverterSpec
from floe.config.converters.json_schema import FLATTEN_SINGLETONS, OPTIONAL
from floe.config.keys.option_reader import OptionReader
from floe_job.convert.context import ConverterContext
from floe_job.convert.json_schema.decoder import JsonSchemaDecoder
from floe_job.convert.json_schema.options import JsonSchemaOptions
from floe_job.convert.registry_records import RegistryRecords
from floe_job.convert.typed.converters import TypedConverters


def json_schema_converters(spec: ConverterSpec, context: ConverterContext) -> TypedConverters:
    """Make the converters: all have one decoder, so that a task reads a schema once. Raises as ``RegistryRecords.of``."""
    records = RegistryRecords.of(spec, context)
    given = OptionReader(spec.options, spec.prefix)
    options = JsonSchemaOptions(given.boolean(OPTIONAL, False), given.boolean(FLATTEN_SINGLETONS, False))
    decoder = JsonSchemaDecoder(records.framing, records.schema_of, options, stage=records.stage)
    return TypedConverters(lambda: decoder)
