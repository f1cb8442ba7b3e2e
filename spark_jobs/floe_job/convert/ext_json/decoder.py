"""Objects of a schema's id and a payload to columns, a part for each schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from floe.registry.schema import RegisteredSchema
from floe_job.contract.rejected_record import Rejected
from floe_job.convert.envelope.payloads import PayloadDecoder
from floe_job.convert.envelope.schema_parser import connect_schema
from floe_job.convert.ext_json.records import Payloads, cut, open_record
from floe_job.convert.json.parse import parse_value
from floe_job.convert.typed.base import TypedBatch, TypedPart
from floe_job.convert.typed.schema_source import SchemaSource, compiled_by_id
from floe_job.exceptions import InvalidRecord, Malformed, UnknownSchema, UnusableSchema
from floe_job.source.values import Packed, packed


class ExtJsonDecoder:
    """Decodes the values of records, each with the id of its schema: a ``TypedDecoder``."""

    def __init__(self, schema_of: SchemaSource, *, fill_defaults: bool, stage: str = "value_converter") -> None:
        """``fill_defaults``: what is null gets the default of its schema. ``stage``: of the records that are rejected."""
        self._fill = fill_defaults
        self._stage = stage
        self._decoders = compiled_by_id(schema_of, "JSON", self._decoder)

    def decode(self, values: Sequence[bytes]) -> TypedBatch:
        """Decode values, none of them None. Raises RegistryError."""
        batch = _Batch(packed(values), self._stage)
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
        batch.rejected.sort(key=lambda one: one.index)
        return TypedBatch(tuple(batch.parts), tuple(batch.rejected), batch.fast_rows)

    def _opened(self, batch: _Batch, values: Sequence[bytes], places: Sequence[int]) -> dict[int, Payloads]:
        """Take records apart one by one."""
        groups: dict[int, Payloads] = {}
        for place in places:
            try:
                opened = open_record(values[place])
            except Malformed as error:
                batch.reject(place, error)
            else:
                groups.setdefault(opened.schema_id, Payloads()).add(place, batch.starts[place], opened)
        return groups

    def _decode_groups(self, batch: _Batch, groups: dict[int, Payloads], *, is_cut: bool) -> list[int]:
        """Decode payloads; return the records whose payload is no JSON as it was cut."""
        again: list[int] = []
        for schema_id, payloads in groups.items():
            try:
                decoder = self._decoders.of(schema_id)
            except (UnknownSchema, UnusableSchema) as error:
                if is_cut:  # another id may count
                    again += payloads.places
                else:
                    for place in payloads.places:
                        batch.reject(place, error)
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
                    batch.reject(payloads.places[bad.row], Malformed(f"schema {schema_id}: {bad.why}"))
        return again

    def _decoder(self, registered: RegisteredSchema) -> PayloadDecoder:
        schema = connect_schema(_parsed(registered.schema.text), fill_defaults=self._fill)
        return PayloadDecoder(schema, fill_defaults=self._fill)


@dataclass
class _Batch:
    """A batch on its way: the buffer of its records, and what was made of them."""

    buffer: Packed
    stage: str
    starts: list[int] = field(init=False)
    ends: list[int] = field(init=False)
    parts: list[TypedPart] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    fast_rows: int = 0

    def __post_init__(self) -> None:
        self.starts, self.ends = self.buffer.starts.tolist(), self.buffer.ends.tolist()

    def reject(self, place: int, error: InvalidRecord) -> None:
        """Note that a record cannot be read."""
        self.rejected.append(Rejected(place, self.stage, error.reason, type(error).__name__))


def _parsed(text: str) -> Any:
    try:
        return parse_value(text.encode())
    except Malformed as error:
        problem = f"the schema is {error}"
        raise UnusableSchema(problem) from None
