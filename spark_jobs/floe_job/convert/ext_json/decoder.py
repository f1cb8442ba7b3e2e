"""Objects of a schema's id and a payload to columns, a part for each schema."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from floe_job.contract.rejected import Rejected
from floe_job.convert.envelope.payloads import PayloadDecoder
from floe_job.convert.envelope.schema_parser import connect_schema
from floe_job.convert.ext_json.records import Payloads, cut, open_record
from floe_job.convert.json.parse import parse_value
from floe_job.convert.typed.base import TypedBatch, TypedPart
from floe_job.convert.typed.schema_source import SchemaSource, schema_of_type
from floe_job.exceptions import InvalidRecord, Malformed, UnknownSchema, UnusableSchema
from floe_job.source.values import Packed, packed

MAX_DECODERS: Final = 1_000
"""Schemas whose decoders are kept."""


class ExtJsonDecoder:
    """Decodes the values of records, each with the id of its schema: a ``TypedDecoder``."""

    def __init__(self, schema_of: SchemaSource, *, fill_defaults: bool, stage: str = "value_converter") -> None:
        """``fill_defaults``: what is null gets the default of its schema. ``stage``: of the records that are rejected."""
        self._schema_of = schema_of
        self._fill = fill_defaults
        self._stage = stage
        self._decoders: OrderedDict[int, PayloadDecoder | UnusableSchema] = OrderedDict()

    def decode(self, values: Sequence[bytes]) -> TypedBatch:
        """Decode values, none of them None. Raises RegistryError."""
        batch = _Batch(packed(values))
        groups: dict[int, Payloads] = {}
        others: list[int] = []
        for place, (start, end) in enumerate(zip(batch.starts, batch.ends, strict=True)):
            opened = cut(batch.buffer.text, start, end)
            if opened is None:
                others.append(place)
            else:
                groups.setdefault(opened.schema_id, Payloads()).add(place, start, opened)
        others += self._decode_groups(batch, groups, is_cut=True)
        self._decode_groups(batch, self._opened(batch, values, sorted(others)), is_cut=False)
        rejected = sorted(batch.rejected.items())
        return TypedBatch(
            tuple(batch.parts),
            tuple(Rejected(place, self._stage, one.reason, type(one).__name__) for place, one in rejected),
            batch.fast_rows,
        )

    def _opened(self, batch: _Batch, values: Sequence[bytes], places: Sequence[int]) -> dict[int, Payloads]:
        """Take records apart one by one."""
        groups: dict[int, Payloads] = {}
        for place in places:
            try:
                opened = open_record(values[place])
            except Malformed as error:
                batch.rejected[place] = error
            else:
                groups.setdefault(opened.schema_id, Payloads()).add(place, batch.starts[place], opened)
        return groups

    def _decode_groups(self, batch: _Batch, groups: dict[int, Payloads], *, is_cut: bool) -> list[int]:
        """Decode payloads; return the records whose payload is no JSON as it was cut."""
        again: list[int] = []
        for schema_id, payloads in groups.items():
            try:
                decoder = self._decoder(schema_id)
            except (UnknownSchema, UnusableSchema) as error:
                if is_cut:  # another id may count
                    again += payloads.places
                else:
                    batch.rejected.update(dict.fromkeys(payloads.places, error))
                continue
            places, starts, ends = payloads.arrays()
            found = decoder.decode(batch.buffer.text, starts, ends)
            batch.fast_rows += found.fast
            if len(found.rows):
                batch.parts.append(TypedPart(decoder.schema, places[found.rows], found.values))
            for bad in found.bad:
                if is_cut and not bad.is_json:
                    again.append(payloads.places[bad.row])
                else:
                    batch.rejected[payloads.places[bad.row]] = Malformed(f"schema {schema_id}: {bad.why}")
        return again

    def _decoder(self, schema_id: int) -> PayloadDecoder:
        """Return the decoder of a schema. Raises UnknownSchema, UnusableSchema and RegistryError."""
        found = self._decoders.get(schema_id)
        if found is None:
            registered = schema_of_type(self._schema_of, schema_id, "JSON")
            try:
                schema = connect_schema(_parsed(registered.schema.text), fill_defaults=self._fill)
                found = PayloadDecoder(schema, fill_defaults=self._fill)
            except UnusableSchema as error:
                found = UnusableSchema(f"schema {schema_id}: {error}")
            self._decoders[schema_id] = found
            if len(self._decoders) > MAX_DECODERS:
                self._decoders.popitem(last=False)
        self._decoders.move_to_end(schema_id)
        if isinstance(found, UnusableSchema):
            raise found
        return found


@dataclass
class _Batch:
    """A batch on its way: the buffer of its records, and what was made of them."""

    buffer: Packed
    starts: list[int] = field(init=False)
    ends: list[int] = field(init=False)
    parts: list[TypedPart] = field(default_factory=list)
    rejected: dict[int, InvalidRecord] = field(default_factory=dict)
    fast_rows: int = 0

    def __post_init__(self) -> None:
        self.starts, self.ends = self.buffer.starts.tolist(), self.buffer.ends.tolist()


def _parsed(text: str) -> Any:
    try:
        return parse_value(text.encode())
    except Malformed as error:
        problem = f"the schema is {error}"
        raise UnusableSchema(problem) from None
