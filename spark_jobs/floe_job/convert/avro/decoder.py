"""Framed Avro records to columns, a part for each schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from floe.config.converters.avro import CONNECT_METADATA, ENHANCED_SUPPORT, FLATTEN_SINGLETONS, FLATTEN_SINGLETONS_ONCE
from floe.config.converters.base import ConverterSpec
from floe.config.converters.with_registry import api_of
from floe.config.keys.reader import OptionReader
from floe.schema_registry.schema import RegisteredSchema
from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema
from floe_job.contract.dead_letter import Rejected
from floe_job.convert.avro.connect_schema import UNION, connect_schema
from floe_job.convert.avro.datums import AvroReader, Bytes, Datums, TooManyValues
from floe_job.convert.avro.nested_readers import reader_of
from floe_job.convert.avro.schema import AvroOptions, parse_schema
from floe_job.convert.column_limits import check_bytes
from floe_job.convert.context import ConverterContext
from floe_job.convert.guids import name_of_schema
from floe_job.convert.header_ids import RegistryRecords
from floe_job.convert.typed.base import Places, TypedBatch, TypedPart
from floe_job.convert.typed.frames import Framing, Group, split_frames
from floe_job.convert.typed.schema_source import SchemaSource, compiled_by_id
from floe_job.convert.typed.table import TypedConverters
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


# Avro with schemas of a registry, as Confluent's and Apicurio's AvroConverter read it.


def avro_converters(spec: ConverterSpec, context: ConverterContext) -> TypedConverters:
    """Make the converters: all have one decoder, so that a task reads a schema once. Raises as ``RegistryRecords.of``."""
    records = RegistryRecords.of(spec, context)
    decoder = AvroDecoder(records.framing, records.schema_of, _options(spec), stage=records.stage)
    return TypedConverters(lambda: decoder)


def _options(spec: ConverterSpec) -> AvroOptions:
    options = OptionReader(spec.options, spec.prefix)
    is_apicurio = api_of(spec) == "apicurio"
    flatten = options.boolean(FLATTEN_SINGLETONS, options.boolean(FLATTEN_SINGLETONS_ONCE, True))
    return AvroOptions(
        enhanced_support=options.boolean(ENHANCED_SUPPORT, False),
        connect_metadata=options.boolean(CONNECT_METADATA, True),
        flatten_singletons=not is_apicurio and flatten,
        unwrap_union=is_apicurio,
    )


# Datums of one schema to one column, a chunk of them at a time.


CHUNK: Final = 16_384
"""Datums that are decoded at once: their positions fit into a processor's cache."""

CHUNK_BYTES: Final = 2 * 1024 * 1024
CHUNK_VALUES: Final = 1_000_000


class AvroColumn(NamedTuple):
    """Decoded datums. ``rows``: the index of the datum of each value. ``bad``: of the others the index, and the reason."""

    values: pa.Array
    rows: Places
    bad: tuple[tuple[int, str], ...]


class LockstepDecoder:
    """Decodes datums of one schema: of all the first field, then of all the second."""

    def __init__(self, schema: RegisteredSchema, options: AvroOptions, *, chunk: int = CHUNK) -> None:
        """Raises UnusableSchema. ``chunk``: datums that are decoded at once."""
        avro = parse_schema(schema)
        self.schema: ConnectSchema = connect_schema(avro, options)
        self._type = arrow_type(self.schema)
        self._reader: AvroReader = reader_of(avro, self.schema, options)
        self._chunk = max(1, min(chunk, CHUNK_VALUES // (self._reader.values + 1)))

    def decode(self, data: Bytes, starts: Places, ends: Places) -> AvroColumn:
        """Decode the datums between ``starts`` and ``ends``, which are ascending; no two ends are the same.

        ``data``: with PADDING bytes before the first datum and behind the last. Raises ColumnsTooLarge.
        """
        columns, rows, bad, nbytes = [pa.array([], self._type)], [np.zeros(0, np.int64)], [], 0
        for first, last in self._chunks(starts, ends):
            for column in self._decode(data, starts[first:last], ends[first:last]):
                nbytes += column.values.nbytes
                check_bytes(nbytes, len(starts))
                columns.append(column.values)
                rows.append(column.rows + first)
                bad += [(first + row, why) for row, why in column.bad]
        return AvroColumn(pa.concat_arrays(columns), np.concatenate(rows), tuple(bad))

    def _chunks(self, starts: Places, ends: Places) -> Iterator[tuple[int, int]]:
        nbytes = np.cumsum(ends - starts)
        first = 0
        while first < len(starts):
            before = int(nbytes[first - 1]) if first else 0
            fitting = int(np.searchsorted(nbytes, before + CHUNK_BYTES, "right"))
            last = max(first + 1, min(first + self._chunk, fitting))
            yield first, last
            first = last

    def _decode(self, data: Bytes, starts: Places, ends: Places) -> Iterator[AvroColumn]:
        """Decode a chunk; its halves one after the other where it makes too many values."""
        datums = Datums(data, ends)
        try:
            column, after = self._reader.read(datums, starts, ends)
        except TooManyValues as error:
            if len(starts) == 1:
                yield AvroColumn(pa.array([], self._type), np.zeros(0, np.int64), ((0, f"the value: {error}"),))
                return
            half = len(starts) // 2
            yield from self._decode(data, starts[:half], ends[:half])
            for column in self._decode(data, starts[half:], ends[half:]):
                yield AvroColumn(column.values, column.rows + half, tuple((row + half, why) for row, why in column.bad))
            return
        more = after != ends
        if more.any():
            left = (ends - after)[more]
            datums.fail(ends[more], "", lambda i: f"{left[i]} bytes are left behind it")
        rows = np.flatnonzero(~datums.failed)
        if len(rows) < len(starts):
            column = column.take(pa.array(rows))
        yield AvroColumn(column, rows, tuple(sorted(datums.reasons.items())))
