"""Framed JSON records to columns, a part for each schema."""

from __future__ import annotations

from collections.abc import Sequence

from floe.config.converters.base import ConverterSpec
from floe.config.converters.json_schema import FLATTEN_SINGLETONS, OPTIONAL
from floe.config.keys.reader import OptionReader
from floe.schema_registry.schema import RegisteredSchema
from floe_job.connect.schema import ConnectSchema
from floe_job.contract.dead_letter import Rejected
from floe_job.convert.context import ConverterContext
from floe_job.convert.guids import name_of_schema
from floe_job.convert.header_ids import RegistryRecords
from floe_job.convert.json_schema.connect_schema import FORMS, JsonSchemaOptions, connect_schema
from floe_job.convert.typed.base import TypedBatch, TypedPart
from floe_job.convert.typed.frames import Framing, split_frames
from floe_job.convert.typed.schema_source import SchemaSource, compiled_by_id
from floe_job.convert.typed.table import TypedConverters
from floe_job.convert.typed_json.payload_reader import PayloadReader
from floe_job.exceptions import InvalidRecord, Malformed, UnknownSchema, UnusableSchema
from floe_job.source.values import divided


class JsonSchemaDecoder:
    """Decodes the values of records, each behind the id of its schema: a ``TypedDecoder``."""

    def __init__(
        self, framing: Framing, schema_of: SchemaSource, options: JsonSchemaOptions, *, stage: str = "value_converter"
    ) -> None:
        """``stage``: of the records that are rejected; ``key_converter`` or ``header_converter`` for those."""
        self._framing = framing
        self._options = options
        self._stage = stage
        self._readers = compiled_by_id(schema_of, "JSON", self._reader)

    def decode(self, values: Sequence[bytes]) -> TypedBatch:
        """Decode values, none of them None. Raises RegistryError."""
        heads, payloads = divided(values, self._framing.size)
        frames = split_frames(heads, self._framing)
        rejected = [self._rejected(index, Malformed(why)) for index, why in frames.bad]
        parts: list[TypedPart] = []
        fast_rows = 0
        for group in frames.groups:
            try:
                schema, reader = self._readers.of(group.schema_id)
            except (UnknownSchema, UnusableSchema) as error:
                rejected += [self._rejected(index, error) for index in group.places.tolist()]
                continue
            is_whole = len(group.places) == len(values)
            found = reader.read(payloads if is_whole else payloads.select(group.places.tolist()))
            fast_rows += found.fast_rows
            if len(found.rows):
                parts.append(TypedPart(schema, group.places[found.rows], found.values))
            rejected += [
                self._rejected(int(group.places[row]), Malformed(f"schema {name_of_schema(group.schema_id)}: {why}"))
                for row, why in found.bad.items()
            ]
        rejected.sort(key=lambda one: one.index)
        return TypedBatch(tuple(parts), tuple(rejected), fast_rows)

    def _reader(self, registered: RegisteredSchema) -> tuple[ConnectSchema, PayloadReader]:
        schema = connect_schema(registered, self._options)
        return schema, PayloadReader(schema, FORMS)

    def _rejected(self, index: int, error: InvalidRecord) -> Rejected:
        return Rejected(index, self._stage, error.reason, type(error).__name__)


# JSON with schemas of a registry, as Confluent's JsonSchemaConverter reads it.


def json_schema_converters(spec: ConverterSpec, context: ConverterContext) -> TypedConverters:
    """Make the converters: all have one decoder, so that a task reads a schema once. Raises as ``RegistryRecords.of``."""
    records = RegistryRecords.of(spec, context)
    given = OptionReader(spec.options, spec.prefix)
    options = JsonSchemaOptions(given.boolean(OPTIONAL, False), given.boolean(FLATTEN_SINGLETONS, False))
    decoder = JsonSchemaDecoder(records.framing, records.schema_of, options, stage=records.stage)
    return TypedConverters(lambda: decoder)
