"""Protobuf with schemas of a registry, as Confluent's and Apicurio's ProtobufConverter read it."""

from __future__ import annotations

from floe.config.converters import protobuf as keys
from floe.config.converters.base import ConverterSpec
from floe.config.converters.with_registry import api_of
from floe.config.keys.option_reader import OptionReader
from floe_job.convert.context import ConverterContext
from floe_job.convert.protobuf.decoder import ProtobufDecoder
from floe_job.convert.protobuf.message_frames import MessageReference
from floe_job.convert.protobuf.options import ProtobufOptions
from floe_job.convert.registry_records import RegistryRecords
from floe_job.convert.typed.converters import TypedConverters


def protobuf_converters(spec: ConverterSpec, context: ConverterContext) -> TypedConverters:
    """Make the converters: all have one decoder, so that a task reads a schema once. Raises as ``RegistryRecords.of``."""
    records = RegistryRecords.of(spec, context)
    is_apicurio = api_of(spec) == "apicurio"
    reference = MessageReference.NAME if is_apicurio else MessageReference.INDEXES
    options = ProtobufOptions(apicurio=True) if is_apicurio else _options(spec)
    decoder = ProtobufDecoder(records.framing, reference, records.schema_of, options, stage=records.stage)
    return TypedConverters(lambda: decoder)


def _options(spec: ConverterSpec) -> ProtobufOptions:
    options = OptionReader(spec.options, spec.prefix)
    given = {name: options.boolean(name, default) for name, default in keys.DEFAULTS.items()}
    return ProtobufOptions(
        full_names=given[keys.FULL_NAMES],
        enums_as_numbers=given[keys.ENUMS_AS_NUMBERS],
        optional_for_nullables=given[keys.OPTIONAL_FOR_NULLABLES],
        optional_for_proto2=given[keys.OPTIONAL_FOR_PROTO2],
        wrapper_for_nullables=given[keys.WRAPPER_FOR_NULLABLES],
        unwrap=given[keys.UNWRAP],
        flatten_unions=given[keys.FLATTEN_UNIONS],
        union_index=given[keys.UNION_INDEX],
    )
