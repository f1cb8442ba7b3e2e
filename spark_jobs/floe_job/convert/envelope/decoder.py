"""Envelopes to columns, a part for each schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from floe_job.contract.rejected_record import Rejected
from floe_job.convert.envelope.envelopes import Envelope, TextCache, open_envelope, prefixes
from floe_job.convert.envelope.options import EnvelopeOptions
from floe_job.convert.envelope.payload_first import PayloadFirst, cut
from floe_job.convert.envelope.payloads import Column, PayloadDecoder
from floe_job.convert.envelope.pieces import decode_in_pieces
from floe_job.convert.envelope.schema_parser import connect_schema
from floe_job.convert.typed.base import Places, SchemalessPart, TypedBatch, TypedPart
from floe_job.convert.typed.schema_source import TOO_DEEP, check_unicode
from floe_job.exceptions import InvalidRecord, Malformed, UnusableSchema
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

    def took(self, decoder: PayloadDecoder, places: Places, column: Column) -> list[int]:
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
