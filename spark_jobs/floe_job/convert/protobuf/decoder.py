"""Framed Protobuf records to columns, a part for each message of each schema."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final

from floe_job.contract.rejected import Rejected
from floe_job.convert.protobuf.descriptors import Key, message_of
from floe_job.convert.protobuf.message_decoder import MessageDecoder
from floe_job.convert.protobuf.message_frames import MessageReference, split_messages
from floe_job.convert.protobuf.options import ProtobufOptions
from floe_job.convert.protobuf.schema_file import file_of
from floe_job.convert.typed.base import Places, TypedBatch, TypedPart
from floe_job.convert.typed.frames import Framing, Group, split_frames
from floe_job.convert.typed.schema_source import SchemaSource, schema_of_type
from floe_job.exceptions import InvalidRecord, Malformed, UnknownSchema, UnusableSchema
from floe_job.source.values import Packed, packed

MAX_DECODERS: Final = 1_000
"""Messages whose decoders are kept, and schemas whose descriptors are."""


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
        self._schema_of = schema_of
        self._options = options
        self._stage = stage
        self._files: OrderedDict[int, Any] = OrderedDict()
        self._decoders: OrderedDict[tuple[int, Key], MessageDecoder | UnusableSchema] = OrderedDict()

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
            decoder = self._decoder(group.schema_id, key)
        except (UnknownSchema, UnusableSchema) as error:
            return None, [self._rejected(index, error) for index in places.tolist()], 0
        column = decoder.decode(buffer.data, starts, group.ends[rows])
        bad = [
            self._rejected(int(places[row]), Malformed(f"schema {group.schema_id}: {why}")) for row, why in column.bad
        ]
        return TypedPart(decoder.schema, places[column.rows], column.values), bad, column.fast_rows

    def _decoder(self, schema_id: int, key: Key) -> MessageDecoder:
        """Return the decoder of a message. Raises UnknownSchema, UnusableSchema, PackageMissing and RegistryError."""
        found = self._decoders.get((schema_id, key))
        if found is None:
            file = self._file(schema_id)
            try:
                found = MessageDecoder(message_of(_usable(file), key), self._options)
            except UnusableSchema as error:
                found = UnusableSchema(f"schema {schema_id}: {error}")
            _keep(self._decoders, (schema_id, key), found)
        self._decoders.move_to_end((schema_id, key))
        if isinstance(found, UnusableSchema):
            raise found
        return found

    def _file(self, schema_id: int) -> Any:
        """Return the descriptor of a schema's file, or why it has none."""
        if schema_id not in self._files:
            schema = schema_of_type(self._schema_of, schema_id, "PROTOBUF")
            try:
                found = file_of(schema)
            except UnusableSchema as error:
                found = error
            _keep(self._files, schema_id, found)
        self._files.move_to_end(schema_id)
        return self._files[schema_id]

    def _rejected(self, index: int, error: InvalidRecord) -> Rejected:
        return Rejected(index, self._stage, error.reason, type(error).__name__)


def _usable(file: Any) -> Any:
    if isinstance(file, UnusableSchema):
        raise UnusableSchema(str(file))
    return file


def _keep(kept: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    kept[key] = value
    if len(kept) > MAX_DECODERS:
        kept.popitem(last=False)
