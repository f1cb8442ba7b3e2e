"""Framed Avro records to columns, a part for each schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from floe_job.contract.rejected_record import Rejected
from floe_job.convert.avro.lockstep import LockstepDecoder
from floe_job.convert.avro.options import AvroOptions
from floe_job.convert.avro.schema.connect_schema import UNION
from floe_job.convert.guids import name_of_schema
from floe_job.convert.typed.base import TypedBatch, TypedPart
from floe_job.convert.typed.frames import Framing, Group, split_frames
from floe_job.convert.typed.schema_source import SchemaSource, compiled_by_id
from floe_job.exceptions import InvalidRecord, Malformed, UnknownSchema, UnusableSchema
from floe_job.source.values import Packed, packed


class AvroDecoder:
    """Decodes the values of records, each behind the id of its schema: a ``TypedDecoder``.

    Everything is decoded in lockstep; there is no other path, so that a record means the same in any batch.
    """

    def __init__(
        self, framing: Framing, schema_of: SchemaSource, options: AvroOptions, *, stage: str = "value_converter"
    ) -> None:
        """``stage``: of the records that are rejected; ``key_converter`` or ``header_converter`` for those."""
        self._framing = framing
        self._options = options
        self._stage = stage
        self._decoders = compiled_by_id(schema_of, "AVRO", lambda schema: LockstepDecoder(schema, options))

    def decode(self, values: Sequence[bytes]) -> TypedBatch:
        """Decode values, none of them None. Raises RegistryError."""
        buffer = packed(values)
        frames = split_frames(buffer, self._framing)
        rejected = [self._rejected(index, Malformed(why)) for index, why in frames.bad]
        parts: list[TypedPart] = []
        for group in frames.groups:
            try:
                part, bad = self._part(buffer, group)
                parts += self._unwrapped(part) if part.schema.name == UNION else [part]
            except (UnknownSchema, UnusableSchema) as error:
                rejected += [self._rejected(index, error) for index in group.places.tolist()]
                continue
            rejected += bad
        parts = [part for part in parts if len(part.places)]
        rejected.sort(key=lambda one: one.index)
        return TypedBatch(tuple(parts), tuple(rejected), sum(len(part.places) for part in parts))

    def _part(self, buffer: Packed, group: Group) -> tuple[TypedPart, list[Rejected]]:
        decoder = self._decoders.of(group.schema_id)
        column = decoder.decode(buffer.data, group.starts, group.ends)
        bad = [
            self._rejected(int(group.places[row]), Malformed(f"schema {name_of_schema(group.schema_id)}: {why}"))
            for row, why in column.bad
        ]
        return TypedPart(decoder.schema, group.places[column.rows], column.values), bad

    def _unwrapped(self, part: TypedPart) -> Iterator[TypedPart]:
        """Divide unions by their branches, if the options say so. What is null stays with the schema of the union."""
        if not self._options.unwrap_union:
            yield part
            return
        left = part.column.is_null()
        yield TypedPart(part.schema, part.places[left.to_numpy(zero_copy_only=False)], part.column.filter(left))
        for number, (_, schema) in enumerate(part.schema.fields):
            branch = part.column.field(number)
            here = branch.is_valid()
            places = part.places[here.to_numpy(zero_copy_only=False)]
            yield TypedPart(replace(schema, optional=False), places, branch.filter(here))

    def _rejected(self, index: int, error: InvalidRecord) -> Rejected:
        return Rejected(index, self._stage, error.reason, type(error).__name__)
