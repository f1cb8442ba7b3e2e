"""Framed JSON records to columns, a part for each schema."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from floe_job.connect.schema import ConnectSchema
from floe_job.contract.rejected import Rejected
from floe_job.convert.json_schema.connect_schema import connect_schema
from floe_job.convert.json_schema.options import JsonSchemaOptions
from floe_job.convert.json_schema.parts import FORMS
from floe_job.convert.typed.base import TypedBatch, TypedPart
from floe_job.convert.typed.frames import Framing, split_frames
from floe_job.convert.typed.schema_source import SchemaSource, schema_of_type
from floe_job.convert.typed_json.payload_reader import PayloadReader
from floe_job.exceptions import InvalidRecord, Malformed, UnknownSchema, UnusableSchema
from floe_job.source.values import divided

MAX_READERS: Final = 1_000
"""Schemas whose readers are kept."""


class JsonSchemaDecoder:
    """Decodes the values of records, each behind the id of its schema: a ``TypedDecoder``."""

    def __init__(
        self, framing: Framing, schema_of: SchemaSource, options: JsonSchemaOptions, *, stage: str = "value_converter"
    ) -> None:
        """``stage``: of the records that are rejected; ``key_converter`` or ``header_converter`` for those."""
        self._framing = framing
        self._schema_of = schema_of
        self._options = options
        self._stage = stage
        self._readers: OrderedDict[int, tuple[ConnectSchema, PayloadReader] | UnusableSchema] = OrderedDict()

    def decode(self, values: Sequence[bytes]) -> TypedBatch:
        """Decode values, none of them None. Raises RegistryError."""
        heads, payloads = divided(values, self._framing.size)
        frames = split_frames(heads, self._framing)
        rejected = [self._rejected(index, Malformed(why)) for index, why in frames.bad]
        parts: list[TypedPart] = []
        fast_rows = 0
        for group in frames.groups:
            try:
                schema, reader = self._reader(group.schema_id)
            except (UnknownSchema, UnusableSchema) as error:
                rejected += [self._rejected(index, error) for index in group.places.tolist()]
                continue
            is_whole = len(group.places) == len(values)
            found = reader.read(payloads if is_whole else payloads.select(group.places.tolist()))
            fast_rows += found.fast_rows
            if len(found.rows):
                parts.append(TypedPart(schema, group.places[found.rows], found.values))
            rejected += [
                self._rejected(int(group.places[row]), Malformed(f"schema {group.schema_id}: {why}"))
                for row, why in found.bad.items()
            ]
        rejected.sort(key=lambda one: one.index)
        return TypedBatch(tuple(parts), tuple(rejected), fast_rows)

    def _reader(self, schema_id: int) -> tuple[ConnectSchema, PayloadReader]:
        """Return a schema and its reader. Raises UnknownSchema, UnusableSchema and RegistryError."""
        found = self._readers.get(schema_id)
        if found is None:
            registered = schema_of_type(self._schema_of, schema_id, "JSON")
            try:
                schema = connect_schema(registered, self._options)
                found = schema, PayloadReader(schema, FORMS)
            except UnusableSchema as error:
                found = UnusableSchema(f"schema {schema_id}: {error}")
            self._readers[schema_id] = found
            if len(self._readers) > MAX_READERS:
                self._readers.popitem(last=False)
        self._readers.move_to_end(schema_id)
        if isinstance(found, UnusableSchema):
            raise found
        return found

    def _rejected(self, index: int, error: InvalidRecord) -> Rejected:
        return Rejected(index, self._stage, error.reason, type(error).__name__)
