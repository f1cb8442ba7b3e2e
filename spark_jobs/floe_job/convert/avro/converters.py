"""Avro with schemas of a registry, as Confluent's and Apicurio's AvroConverter read it."""

from __future__ import annotations

from floe.config.converters.avro import CONNECT_METADATA, ENHANCED_SUPPORT, FLATTEN_SINGLETONS, FLATTEN_SINGLETONS_ONCE
from floe.config.converters.base import ConverterSpec
from floe.config.converters.with_registry import api_of
from floe.config.keys.option_reader import OptionReader
from floe_job.convert.avro.decoder import AvroDecoder
from floe_job.convert.avro.options import AvroOptions
from floe_job.convert.context import ConverterContext
from floe_job.convert.registry_records import RegistryRecords
from floe_job.convert.typed.converters import TypedConverters


def avro_converters(spec: ConverterSpec, context: ConverterContext) -> TypedConverters:
    """Make the converters: all have one decoder, so that a task reads a schema once. Raises as ``RegistryRecords.of``."""
    records = RegistryRecords.of(spec, context)
    decoder = AvroDecoder(records.framing, records.schema_of, _options(spec), stage=records.stage)
    return TypedConverters(lambda: decoder)


def _options(spec: ConverterSpec) -> AvroOptions:
    options = OptionReader(spec.options, spec.prefix)
    is_apicurio = api_of(spec) == "apicurio"
    flatten = options.boolean(FLATTEN_SINGLETONS, options.boolean(FLATTEN_SINGLETONS_ONCE, True))
    return AvroOptions(
        enhanced_support=options.boolean(ENHANCED_SUPPORT, False),
        connect_metadata=options.boolean(CONNECT_METADATA, True),
        flatten_singletons=not is_apicurio and flatten,
        unwrap_union=is_apicurio,
    )
