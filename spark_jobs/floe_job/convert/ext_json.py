"""JSON with the id of its schema, as Apicurio's ``ExtJsonConverter`` reads it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from floe.config.converters.base import ConverterSpec
from floe.config.converters.json import REPLACE_NULL
from floe.config.converters.with_registry import registry_of
from floe.config.keys.reader import OptionReader
from floe.schema_registry.schema import RegisteredSchema
from floe_job.contract.dead_letter import Rejected
from floe_job.convert.context import ConverterContext
from floe_job.convert.envelope.envelopes import Member, NoObject, members_of
from floe_job.convert.envelope.payloads import PayloadDecoder
from floe_job.convert.envelope.schema_parser import connect_schema
from floe_job.convert.json.parse import parse_value
from floe_job.convert.typed.base import Places, TypedBatch, TypedPart
from floe_job.convert.typed.schema_source import SchemaSource, compiled_by_id
from floe_job.convert.typed.table import TypedConverters
from floe_job.exceptions import VALUE_LENGTH, InvalidRecord, Malformed, UnknownSchema, UnusableSchema, clip
from floe_job.source.values import Packed, packed


def ext_json_converters(spec: ConverterSpec, context: ConverterContext) -> TypedConverters:
    """Make the converters, with one decoder. Raises ConfigError and RegistryMisconfigured."""
    source = context.schemas(registry_of(spec))
    fill_defaults = OptionReader(spec.options, spec.prefix).boolean(REPLACE_NULL, True)
    decoder = ExtJsonDecoder(source, fill_defaults=fill_defaults, stage=f"{spec.role}_converter")
    return TypedConverters(lambda: decoder)


# Objects of a schema's id and a payload to columns, a part for each schema.


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
        groups: dict[int, ExtJsonPayloads] = {}
        others: list[int] = []
        for place, (start, end) in enumerate(zip(batch.starts, batch.ends, strict=True)):
            opened = cut(batch.buffer.text, start, end)
            if opened is None:
                others.append(place)
            else:
                groups.setdefault(opened.schema_id, ExtJsonPayloads()).add(place, start, opened)
        others += self._decode_groups(batch, groups, is_cut=True)
        self._decode_groups(batch, self._opened(batch, values, sorted(others)), is_cut=False)
        batch.rejected.sort(key=lambda one: one.index)
        return TypedBatch(tuple(batch.parts), tuple(batch.rejected), batch.fast_rows)

    def _opened(self, batch: _Batch, values: Sequence[bytes], places: Sequence[int]) -> dict[int, ExtJsonPayloads]:
        """Take records apart one by one."""
        groups: dict[int, ExtJsonPayloads] = {}
        for place in places:
            try:
                opened = open_record(values[place])
            except Malformed as error:
                batch.reject(place, error)
            else:
                groups.setdefault(opened.schema_id, ExtJsonPayloads()).add(place, batch.starts[place], opened)
        return groups

    def _decode_groups(self, batch: _Batch, groups: dict[int, ExtJsonPayloads], *, is_cut: bool) -> list[int]:
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


# Records as objects of ``schemaId`` and ``payload``: which schema each has, and where its payload is.


SCHEMA_ID: Final = "schemaId"
PAYLOAD: Final = "payload"

MAX_ID: Final = (1 << 63) - 1

_PREFIX: Final = re.compile(rb'\{"schemaId":(0|[1-9]\d{0,17}),"payload":')
"""As Apicurio's converter writes records; others are parsed."""


class OpenedRecord(NamedTuple):
    """A record, taken apart. ``start``, ``end``: of its payload, in its bytes."""

    schema_id: int
    start: int
    end: int


def cut(text: bytearray, start: int, end: int) -> OpenedRecord | None:
    """Return what a record is if it is as the converter writes it, by its first bytes and its last; None if not.

    Whether that is so the payload shows: what is left of another record is no JSON.
    """
    found = _PREFIX.match(text, start, end)
    if found is None or end - 1 <= found.end() or text[end - 1] != ord("}"):
        return None
    return OpenedRecord(int(found[1]), found.end() - start, end - 1 - start)


def open_record(record: bytes) -> OpenedRecord:
    """Parse a record. Of a name that is there twice the last counts, and others are ignored. Raises Malformed."""
    try:
        text, members = members_of(record)
    except NoObject:
        problem = f"it is no object of {SCHEMA_ID} and {PAYLOAD}: it was not written by Apicurio's converter"
        raise Malformed(problem) from None
    last = {member[0]: member for member in members}
    schema_id = _member(last, SCHEMA_ID)[1]
    if type(schema_id) is not int or not 0 <= schema_id <= MAX_ID:
        problem = f"its {SCHEMA_ID} is {clip(repr(schema_id), VALUE_LENGTH)}, and no id of a schema"
        raise Malformed(problem)
    _, _, start, end = _member(last, PAYLOAD)
    begin = len(text[:start].encode())
    return OpenedRecord(schema_id, begin, begin + len(text[start:end].encode()))


def _member(found: dict[str, Member], name: str) -> Member:
    if name not in found:
        problem = f"it has no {name}: it was not written by Apicurio's converter"
        raise Malformed(problem)
    return found[name]


@dataclass
class ExtJsonPayloads:
    """The payloads of one schema: the index of each record, and where its payload is in the buffer."""

    places: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def add(self, place: int, begin: int, opened: OpenedRecord) -> None:
        """Add the payload of a record that begins at ``begin``."""
        self.places.append(place)
        self.starts.append(begin + opened.start)
        self.ends.append(begin + opened.end)

    def arrays(self) -> tuple[Places, Places, Places]:
        """Return all as arrays."""
        return np.array(self.places, np.int64), np.array(self.starts, np.int64), np.array(self.ends, np.int64)
