"""Framed Protobuf records to columns, a part for each message of each schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from floe.config.converters import protobuf as keys
from floe.config.converters.base import ConverterSpec
from floe.config.converters.with_registry import api_of
from floe.config.keys.reader import OptionReader
from floe_job.contract.dead_letter import Rejected
from floe_job.convert.context import ConverterContext
from floe_job.convert.guids import name_of_schema
from floe_job.convert.header_ids import RegistryRecords
from floe_job.convert.protobuf.descriptors import Key, ProtobufOptions, message_of
from floe_job.convert.protobuf.message_decoder import MessageDecoder
from floe_job.convert.protobuf.message_frames import MessageReference, split_messages
from floe_job.convert.protobuf.schema_file import file_of
from floe_job.convert.typed.base import Places, TypedBatch, TypedPart
from floe_job.convert.typed.frames import Framing, Group, split_frames
from floe_job.convert.typed.schema_source import CompiledSchema, SchemaSource, compiled_by_id
from floe_job.convert.typed.table import TypedConverters
from floe_job.exceptions import InvalidRecord, Malformed, UnknownSchema, UnusableSchema
from floe_job.source.values import Packed, packed


class ProtobufDecoder:
    """Decodes the values of records, each behind the id of its schema and the place of its message: a ``TypedDecoder``."""

    def __init__(
        self,
        framing: Framing,
        reference: MessageReference,
        schema_of: SchemaSource,
        options: ProtobufOptions,
        *,
        stage: str = "value_converter",
    ) -> None:
        """``stage``: of the records that are rejected; ``key_converter`` or ``header_converter`` for those."""
        self._framing = framing
        self._reference = reference
        self._options = options
        self._stage = stage
        self._files: CompiledSchema[int, Any] = compiled_by_id(schema_of, "PROTOBUF", file_of)
        self._decoders = CompiledSchema(self._decoder)

    def decode(self, values: Sequence[bytes]) -> TypedBatch:
        """Decode values, none of them None. Raises RegistryError and PackageMissing."""
        buffer = packed(values)
        frames = split_frames(buffer, self._framing)
        rejected = [self._rejected(index, Malformed(why)) for index, why in frames.bad]
        parts: list[TypedPart] = []
        fast = 0
        for group in frames.groups:
            messages = split_messages(buffer.data, group.starts, group.ends, self._reference)
            rejected += [self._rejected(int(group.places[row]), Malformed(why)) for row, why in messages.bad]
            for key, rows, starts in messages.groups:
                part, bad, fast_rows = self._part(buffer, group, key, rows, starts)
                parts += [part] if part is not None and len(part.places) else []
                rejected += bad
                fast += fast_rows
        rejected.sort(key=lambda one: one.index)
        return TypedBatch(tuple(parts), tuple(rejected), fast)

    def _part(
        self, buffer: Packed, group: Group, key: Key, rows: Places, starts: Places
    ) -> tuple[TypedPart | None, list[Rejected], int]:
        places = group.places[rows]
        try:
            decoder = self._decoders.of((group.schema_id, key))
        except (UnknownSchema, UnusableSchema) as error:
            return None, [self._rejected(index, error) for index in places.tolist()], 0
        column = decoder.decode(buffer.data, starts, group.ends[rows])
        name = name_of_schema(group.schema_id)
        bad = [self._rejected(int(places[row]), Malformed(f"schema {name}: {why}")) for row, why in column.bad]
        return TypedPart(decoder.schema, places[column.rows], column.values), bad, column.fast_rows

    def _decoder(self, message: tuple[int, Key]) -> MessageDecoder:
        schema_id, key = message
        file = self._files.of(schema_id)
        try:
            return MessageDecoder(message_of(file, key), self._options)
        except UnusableSchema as error:
            problem = f"schema {name_of_schema(schema_id)}: {error}"
            raise UnusableSchema(problem) from None

    def _rejected(self, index: int, error: InvalidRecord) -> Rejected:
        return Rejected(index, self._stage, error.reason, type(error).__name__)


# Protobuf with schemas of a registry, as Confluent's and Apicurio's ProtobufConverter read it.


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
