"""Envelopes to columns, a part for each schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from floe.config.converters.base import ConverterSpec
from floe.config.converters.json import CACHE_SIZE, CONTENT, REPLACE_NULL
from floe.config.keys.key import KeyType
from floe.config.keys.values import parse_boolean, parse_integer
from floe_job.contract.dead_letter import Rejected
from floe_job.convert.context import ConverterContext
from floe_job.convert.envelope.envelopes import Envelope, TextCache, open_envelope, prefixes
from floe_job.convert.envelope.payloads import EnvelopeColumn, PayloadDecoder
from floe_job.convert.envelope.schema_parser import connect_schema
from floe_job.convert.json.framing import nbytes
from floe_job.convert.json.parse import parse_value
from floe_job.convert.typed.base import Places, SchemalessPart, TypedBatch, TypedPart
from floe_job.convert.typed.schema_source import TOO_DEEP, check_unicode
from floe_job.convert.typed.table import TypedConverters
from floe_job.exceptions import InvalidRecord, Malformed, UnusableSchema
from floe_job.source.record_batch import ParsedValues
from floe_job.source.values import Packed, packed

MAX_SWEEPS: Final = 8
"""Schemas that few records have and that all records left are compared with at once; others are looked up one by one then."""

WORTH_IT: Final = 1 / 64
"""The part of the records left from which on it pays to compare all of them with a schema."""

MAX_BLANKS: Final = 16
"""Blanks behind a payload that are cut off without parsing the record."""

_TAKEN: Final = -1
"""The end of a payload that need not be looked for."""

_BLANKS: Final = np.zeros(256, np.bool_)
_BLANKS[[ord(blank) for blank in " \t\n\r"]] = True


@dataclass(eq=False)
class _Schema:
    """A schema by its text. ``decoder``: None for null, which is no schema."""

    decoder: PayloadDecoder | UnusableSchema | None


@dataclass
class _Group:
    """Payloads of one schema: the index of each record, and where its payload is in the buffer."""

    schema: _Schema
    places: list[Places] = field(default_factory=list)
    starts: list[Places] = field(default_factory=list)
    ends: list[Places] = field(default_factory=list)

    def joined(self) -> tuple[Places, Places, Places]:
        places = np.concatenate(self.places)
        order = np.argsort(places, kind="stable")
        return places[order], np.concatenate(self.starts)[order], np.concatenate(self.ends)[order]


class EnvelopeDecoder:
    """Decodes the values of records, each with its schema: a ``TypedDecoder``."""

    def __init__(self, options: EnvelopeOptions, *, stage: str = "value_converter") -> None:
        """``stage``: of the records that are rejected; ``key_converter`` or ``header_converter`` for those."""
        self._options = options
        self._stage = stage
        self._schemas: TextCache[_Schema] = TextCache(options.schemas)
        self._prefixes: TextCache[_Schema] = TextCache(options.schemas)
        self._ends: TextCache[_Schema] = TextCache(options.schemas)

    def decode(self, values: Sequence[bytes]) -> TypedBatch:
        """Decode values, none of them None."""
        return decode_in_pieces(self._decode, values)

    def _decode(self, values: Sequence[bytes]) -> TypedBatch:
        batch = _Batch(packed(values), values, self._stage)
        others = self._cut(batch)
        again = self._decode_groups(batch)
        self._open(batch, sorted([*others, *again]))
        self._decode_groups(batch)
        batch.rejected.sort(key=lambda one: one.index)
        return TypedBatch(tuple(batch.parts), tuple(batch.rejected), batch.fast_rows, batch.schemaless_part())

    def _cut(self, batch: _Batch) -> list[int]:
        """Divide records by what is before their payloads; return those that are not like a record before them."""
        stops = batch.payload_ends()
        stops[self._cut_payload_first(batch)] = _TAKEN
        left = np.flatnonzero(stops > 0)
        others = np.flatnonzero(stops == 0).tolist()
        tries = MAX_SWEEPS
        while len(left) and tries:
            before = len(left)
            prefix = self._prefix_of(batch, int(left[0]))
            if prefix is None:
                others.append(int(left[0]))
                left = left[1:]
                tries -= 1
                continue
            rest = self._sweep(batch, prefix, left, stops)
            if len(rest) and rest[0] == left[0]:  # it has no payload
                others.append(int(left[0]))
                rest = rest[1:]
            left = rest
            if before - len(left) < before * WORTH_IT:
                tries -= 1
        for place in left.tolist():
            prefix = self._prefix_of(batch, place)
            if prefix is None or len(self._sweep(batch, prefix, np.array([place]), stops)):
                others.append(place)
        return others

    def _sweep(self, batch: _Batch, prefix: bytes, left: Places, stops: Places) -> Places:
        """Take the records that begin alike; return the others."""
        schema = self._prefixes.get(prefix)
        assert schema is not None  # noqa: S101 - it has just been found
        text, starts = batch.buffer.text, batch.buffer.starts[left]
        hits = np.array([text.startswith(prefix, start) for start in starts.tolist()], np.bool_)
        payloads = starts + len(prefix)
        hits &= payloads < stops[left]
        batch.take(schema, left[hits], payloads[hits], stops[left[hits]])
        return left[~hits]

    def _prefix_of(self, batch: _Batch, place: int) -> bytes | None:
        """Return what is before a record's payload; None where that is nothing to compare others with."""
        record = batch.values[place]
        for prefix in prefixes(record):
            if self._prefixes.get(prefix) is not None:
                return prefix
        try:
            envelope = open_envelope(record)
        except Malformed:
            return None
        if not envelope.is_plain:
            return None
        prefix = record[: envelope.start]
        self._prefixes.put(prefix, self._schema_of(envelope))
        return prefix

    def _cut_payload_first(self, batch: _Batch) -> list[int]:
        """Divide records whose payload is first by what is behind it; return those that are like a record before them."""
        taken: dict[_Schema, list[tuple[int, int, int]]] = {}
        tries = MAX_SWEEPS
        for place in batch.payload_first().tolist():
            record = batch.values[place]
            found = cut(record)
            schema = None if found is None else self._ends.get(record[found.end :])
            if schema is None and found is not None and tries:
                tries -= 1
                schema = self._schema_behind(record, found)
            if schema is not None and found is not None:
                start = int(batch.buffer.starts[place])
                taken.setdefault(schema, []).append((place, start + found.start, start + found.end))
        for schema, rows in taken.items():
            batch.take(schema, *np.array(rows, np.int64).T.copy())
        return [place for rows in taken.values() for place, _, _ in rows]

    def _schema_behind(self, record: bytes, found: PayloadFirst) -> _Schema | None:
        """Parse a record; return its schema, and keep it, if it has a schema and is cut where its payload ends."""
        try:
            envelope = open_envelope(record)
        except Malformed:
            return None
        end = found.between + envelope.schema_text + b"}"
        if envelope.schema is None or (envelope.start, envelope.end) != found[:2] or record[found.end :] != end:
            return None
        schema = self._schema_of(envelope)
        self._ends.put(end, schema)
        return schema

    def _schema_of(self, envelope: Envelope) -> _Schema:
        found = self._schemas.get(envelope.schema_text)
        if found is None:
            found = _Schema(self._decoder(envelope))
            self._schemas.put(envelope.schema_text, found)
        return found

    def _decoder(self, envelope: Envelope) -> PayloadDecoder | UnusableSchema | None:
        if envelope.schema is None:
            return None
        fill = self._options.fill_defaults
        try:
            check_unicode(envelope.schema_text.decode())
            return PayloadDecoder(connect_schema(envelope.schema, fill_defaults=fill), fill_defaults=fill)
        except UnusableSchema as error:
            return UnusableSchema(str(error))
        except RecursionError:
            return UnusableSchema(TOO_DEEP)

    def _open(self, batch: _Batch, places: Sequence[int]) -> None:
        """Take records apart one by one."""
        for place in places:
            try:
                envelope = open_envelope(batch.values[place])
            except Malformed as error:
                batch.reject(place, error)
                continue
            start = int(batch.buffer.starts[place])
            one, first, last = (
                np.array([at], np.int64) for at in (place, start + envelope.start, start + envelope.end)
            )
            batch.take(self._schema_of(envelope), one, first, last)

    def _decode_groups(self, batch: _Batch) -> list[int]:
        """Decode the payloads taken so far; return the records whose payload is no JSON as it was cut."""
        again: list[int] = []
        groups, batch.groups = batch.groups, {}
        while groups:
            group = groups.pop(next(iter(groups)))  # so that a schema that is not kept does not stay with the batch
            places, starts, ends = group.joined()
            decoder = group.schema.decoder
            if decoder is None:
                batch.schemaless += zip(places.tolist(), starts.tolist(), ends.tolist(), strict=True)
                continue
            if isinstance(decoder, UnusableSchema):
                for place in places.tolist():
                    batch.reject(place, decoder)
                continue
            column = decoder.decode(batch.buffer.text, starts, ends)
            again += batch.took(decoder, places, column)
        batch.is_cut = False
        return again


@dataclass
class _Batch:
    """A batch on its way: the buffer of its records, their payloads by schema, and what was made of them.

    ``is_cut``: payloads end where their record does, but for a brace; whether they are JSON is not known.
    """

    buffer: Packed
    values: Sequence[bytes]
    stage: str
    groups: dict[_Schema, _Group] = field(default_factory=dict)
    parts: list[TypedPart] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    schemaless: list[tuple[int, int, int]] = field(default_factory=list)
    fast_rows: int = 0
    is_cut: bool = True

    def payload_ends(self) -> Places:
        """Return where the payload of each record ends, if the record ends with it and a brace; else 0."""
        data, ends = self.buffer.data, self.buffer.ends - 1
        ends = np.where((self.buffer.ends > self.buffer.starts) & (data[ends] == ord("}")), ends, 0)
        for _ in range(MAX_BLANKS):
            blank = _BLANKS[data[ends - 1]] & (ends > 0)
            if not blank.any():
                return ends
            ends = ends - blank
        return np.where(blank, 0, ends)

    def payload_first(self) -> Places:
        """Return the records whose first field may be the payload, by the first letter of its name."""
        starts = self.buffer.starts
        found: Places = np.flatnonzero((self.buffer.ends - starts > 2) & (self.buffer.data[starts + 2] == ord("p")))
        return found

    def take(self, schema: _Schema, places: Places, starts: Places, ends: Places) -> None:
        """Take payloads of a schema."""
        if len(places):
            group = self.groups.setdefault(schema, _Group(schema))
            group.places.append(places)
            group.starts.append(starts)
            group.ends.append(ends)

    def took(self, decoder: PayloadDecoder, places: Places, column: EnvelopeColumn) -> list[int]:
        """Note what was made of payloads; return the records that are to be taken apart."""
        if len(column.rows):
            self.parts.append(TypedPart(decoder.schema, places[column.rows], column.values))
        self.fast_rows += column.fast
        again = []
        for bad in column.bad:
            place = int(places[bad.row])
            if self.is_cut and not bad.is_json:
                again.append(place)
            else:
                self.reject(place, Malformed(bad.why))
        return again

    def reject(self, place: int, error: InvalidRecord) -> None:
        """Note that a record cannot be read."""
        self.rejected.append(Rejected(place, self.stage, error.reason, type(error).__name__))

    def schemaless_part(self) -> SchemalessPart | None:
        """Return the records that have no schema."""
        if not self.schemaless:
            return None
        self.schemaless.sort()
        places = np.array([place for place, _, _ in self.schemaless], np.int64)
        return SchemalessPart(places, [bytes(self.buffer.text[start:end]) for _, start, end in self.schemaless])


# JSON with schemas, as Kafka Connect's JsonConverter reads it with ``schemas.enable=true``.


def envelope_converters(spec: ConverterSpec, context: ConverterContext) -> TypedConverters:
    """Make the readers of envelopes, which bring their schemas and need no registry."""
    options, stage = EnvelopeOptions.of(spec), f"{spec.role}_converter"
    if options.content:
        fill = options.fill_defaults
        return TypedConverters(lambda: FixedSchemaDecoder(options.content, fill_defaults=fill, stage=stage))
    return TypedConverters(lambda: EnvelopeDecoder(options, stage=stage))


# Payloads without an envelope, of one schema that the configuration has (``schema.content``).


class FixedSchemaDecoder:
    """Decodes values that are payloads of one schema: a ``TypedDecoder``."""

    def __init__(self, schema: str, *, fill_defaults: bool, stage: str) -> None:
        """``schema``: its JSON. ``fill_defaults``: what is null gets the default of its schema."""
        self._stage = stage
        self._decoder: PayloadDecoder | InvalidRecord
        try:
            check_unicode(schema)
            made = connect_schema(parse_value(schema.encode()), fill_defaults=fill_defaults)
            self._decoder = PayloadDecoder(made, fill_defaults=fill_defaults)
        except InvalidRecord as error:
            self._decoder = UnusableSchema(f"schema.content: {error}")
        except RecursionError:
            self._decoder = UnusableSchema(f"schema.content: {TOO_DEEP}")

    def decode(self, values: Sequence[bytes]) -> TypedBatch:
        """Decode values, none of them None."""
        if isinstance(self._decoder, InvalidRecord):
            return TypedBatch((), tuple(self._rejected(place, self._decoder) for place in range(len(values))), 0)
        texts = list(values)
        sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        places = np.flatnonzero(sizes)
        ends = np.cumsum(sizes + 1) - 1
        column = self._decoder.decode(bytearray(b"\n".join((*texts, b""))), (ends - sizes)[places], ends[places])
        bad = [(int(places[one.row]), one.why) for one in column.bad]
        bad += [(place, "not JSON: empty") for place in np.flatnonzero(sizes == 0).tolist()]
        parts = (TypedPart(self._decoder.schema, places[column.rows], column.values),) if len(column.rows) else ()
        return TypedBatch(
            parts, tuple(self._rejected(place, Malformed(why)) for place, why in sorted(bad)), column.fast
        )

    def _rejected(self, place: int, error: InvalidRecord) -> Rejected:
        return Rejected(place, self._stage, error.reason, type(error).__name__)


# Batches decoded a piece at a time: what a decoder copies of large records stays small.


PIECE_BYTES: Final = 16 * 1024 * 1024
"""Bytes of a piece: memory of twice that is not kept for reuse (``floe_job.memory_tuning``), but new for each batch."""

MIN_RECORDS: Final = 256
"""Records of a piece, however large they are."""


def decode_in_pieces(
    decode: Callable[[Sequence[bytes]], TypedBatch],
    values: Sequence[bytes],
    piece_bytes: int = PIECE_BYTES,
    min_records: int = MIN_RECORDS,
) -> TypedBatch:
    """Decode values as ``decode`` does, some of them at a time."""
    size = max(min_records, piece_bytes * len(values) // max(1, nbytes(values)))
    if size >= len(values):
        return decode(values)
    firsts = range(0, len(values), size)
    batches = [(first, decode(values[first : first + size])) for first in firsts]
    parts: dict[int, list[tuple[int, TypedPart]]] = {}
    for first, batch in batches:
        for part in batch.parts:
            parts.setdefault(id(part.schema), []).append((first, part))
    return TypedBatch(
        tuple(map(_joined, parts.values())),
        tuple(one.at(first + one.index) for first, batch in batches for one in batch.rejected),
        sum(batch.fast_rows for _, batch in batches),
        _joined_schemaless([(first, batch.schemaless) for first, batch in batches if batch.schemaless is not None]),
    )


def _joined(parts: Sequence[tuple[int, TypedPart]]) -> TypedPart:
    places = np.concatenate([first + part.places for first, part in parts])
    return TypedPart(parts[0][1].schema, places, pa.concat_arrays([part.column for _, part in parts]))


def _joined_schemaless(parts: Sequence[tuple[int, SchemalessPart]]) -> SchemalessPart | None:
    if not parts:
        return None
    values = [value for _, part in parts for value in part.values]
    is_parsed = isinstance(parts[0][1].values, ParsedValues)
    places = np.concatenate([first + part.places for first, part in parts])
    return SchemalessPart(places, ParsedValues(values) if is_parsed else values)


# Envelopes whose payload comes first: what is behind it is the same for all records of a schema, and is compared.
#
# As ``prefixes`` of records with the schema first. Whether a payload ends there the payload shows: cut elsewhere it
# is no JSON.


_STYLES: Final = ((b'{"payload":', b',"schema":'), (b'{"payload": ', b', "schema": '))
"""How serializers write what is before the payload, and what is between it and the schema."""


class PayloadFirst(NamedTuple):
    """A record, cut. ``start``, ``end``: of its payload, in bytes. ``between``: what is before its schema."""

    start: int
    end: int
    between: bytes


def cut(record: bytes) -> PayloadFirst | None:
    """Return where the payload of a record may be; None for a record that is written otherwise."""
    for before, between in _STYLES:
        if record.startswith(before):
            end = record.rfind(between)
            if end > len(before):
                return PayloadFirst(len(before), end, between)
    return None


# The options of Kafka's ``JsonConverter`` that change what an envelope means.


MAX_SCHEMAS: Final = 1_000
"""Schemas whose decoders are kept, by default and at most."""


@dataclass(frozen=True)
class EnvelopeOptions:
    """Options of JsonConverter with ``schemas.enable``.

    ``fill_defaults`` (``replace.null.with.default``): what is null, or not there, gets the default of its schema.
    ``schemas`` (``schemas.cache.size``): schemas whose decoders are kept. ``content`` (``schema.content``): the JSON of the
    one schema of all values, which are payloads without an envelope then; empty for none.
    """

    fill_defaults: bool = True
    schemas: int = MAX_SCHEMAS
    content: str = ""

    @classmethod
    def of(cls, spec: ConverterSpec) -> EnvelopeOptions:
        """Read the options of a converter, which are checked already."""
        fill, size = spec.options.get(REPLACE_NULL), spec.options.get(CACHE_SIZE)
        return cls(
            fill is None or parse_boolean(spec.prefix + REPLACE_NULL, fill),
            MAX_SCHEMAS if size is None else max(1, min(MAX_SCHEMAS, parse_integer(CACHE_SIZE, KeyType.INT, size, 0))),
            spec.options.get(CONTENT, ""),
        )
