"""The sources of injected columns: each source proposes a type, and fills the type that the table has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyiceberg.types import StructType

from floe.config.transforms.iceberg import HEADERS, KEY, OFFSET, PARTITION, TIMESTAMP, TOPIC, KafkaMetadata
from floe_job.schema.proposal import Proposal, StructOf
from floe_job.transform.kafka_metadata.fill import (
    MetadataColumn,
    MetadataPlace,
    constants,
    convert_each,
    longs,
    nbytes,
    nulls,
    text_of,
)
from floe_job.transform.kafka_metadata.headers import HEADERS_PROPOSAL, headers, plain
from floe_job.transform.record_metadata import RecordMetadata
from floe_job.types import converter

Filler = Callable[[RecordMetadata], MetadataColumn]


class Source(Protocol):
    """A kind of record metadata."""

    @property
    def proposal(self) -> Proposal:
        """The type of a column that the table lacks."""

    def filler(self, slot: MetadataPlace) -> Filler:
        """Compile what fills a column. Raises UnsupportedColumn."""

    def values(self, metadata: RecordMetadata) -> list[Any]:
        """Return the values as a record's JSON would contain them, for a column type without a filler of its own."""


@dataclass(frozen=True)
class Constant:
    """One value for all records of a partition."""

    proposal: Proposal
    of: Callable[[RecordMetadata], str | int]

    def filler(self, slot: MetadataPlace) -> Filler:
        fill = constants(slot)
        return lambda metadata: fill(self.of(metadata), len(metadata))

    def values(self, metadata: RecordMetadata) -> list[Any]:
        return [self.of(metadata)] * len(metadata)


@dataclass(frozen=True)
class Longs:
    """Offsets or timestamps."""

    of: Callable[[RecordMetadata], Any]
    proposal: Proposal = "long"

    def filler(self, slot: MetadataPlace) -> Filler:
        fill = longs(slot)
        return lambda metadata: fill(self._array(metadata))

    def values(self, metadata: RecordMetadata) -> list[Any]:
        return list(self._array(metadata).to_pylist())

    def _array(self, metadata: RecordMetadata) -> pa.Array:
        values = self.of(metadata)
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        return values if isinstance(values, pa.Array) else pa.array(values, pa.int64())


@dataclass(frozen=True)
class RecordKey:
    """The record's key."""

    proposal: Proposal = "string"

    def filler(self, slot: MetadataPlace) -> Filler:
        fill = nbytes(slot)
        return lambda metadata: fill(pa.array(_given(metadata.keys), pa.large_binary()))

    def values(self, metadata: RecordMetadata) -> list[Any]:
        return [None if key is None else text_of(key) for key in _given(metadata.keys)]


@dataclass(frozen=True)
class RecordHeaders:
    """The record's headers."""

    proposal: Proposal = HEADERS_PROPOSAL

    def filler(self, slot: MetadataPlace) -> Filler:
        fill = headers(slot)
        return lambda metadata: fill(_given(metadata.headers))

    def values(self, metadata: RecordMetadata) -> list[Any]:
        return [plain(entries) for entries in _given(metadata.headers)]


@dataclass(frozen=True)
class Nested:
    """All metadata of a record as one struct."""

    parts: Mapping[str, Source]

    @property
    def proposal(self) -> Proposal:
        return StructOf(tuple((name, source.proposal) for name, source in self.parts.items()))

    def filler(self, slot: MetadataPlace) -> Filler:
        if isinstance(slot.type, StructType):
            return self._struct(slot, slot.type)
        convert = converter(slot.type)
        return lambda metadata: convert_each(slot, convert, self.values(metadata))

    def values(self, metadata: RecordMetadata) -> list[Any]:
        """Return objects; an entry that is null is left out, as the sink does."""
        columns = [source.values(metadata) for source in self.parts.values()]
        return [
            {name: value for name, value in zip(self.parts, row, strict=True) if value is not None}
            for row in zip(*columns, strict=True)
        ]

    def _struct(self, slot: MetadataPlace, target: StructType) -> Filler:
        """Fill field by field; fields that the table has besides are null."""
        fields = list(slot.arrow)
        fillers = [
            self._field(MetadataPlace.of(column, arrow, *slot.path))
            for column, arrow in zip(target.fields, fields, strict=True)
        ]

        def fill(metadata: RecordMetadata) -> MetadataColumn:
            columns = [filler(metadata) for filler in fillers]
            refused = {i: reason for column in reversed(columns) for i, reason in column.refused.items()}
            if refused:
                return MetadataColumn(None, refused)
            return MetadataColumn(pa.StructArray.from_arrays([column.array for column in columns], fields=fields))

        return fill

    def _field(self, slot: MetadataPlace) -> Filler:
        source = self.parts.get(slot.path[-1])
        if source is not None:
            return source.filler(slot)
        fill = nulls(slot)
        return lambda metadata: fill(len(metadata))


def sources(transform: KafkaMetadata) -> dict[str, Source]:
    """Make the sources of a transform's top-level columns, by name, in order."""
    known: dict[str, Source] = {
        TOPIC: Constant("string", lambda metadata: metadata.topic),
        PARTITION: Constant("long", lambda metadata: metadata.partition),
        OFFSET: Longs(lambda metadata: metadata.offsets),
        TIMESTAMP: Longs(lambda metadata: metadata.timestamps),
        KEY: RecordKey(),
        HEADERS: RecordHeaders(),
    }
    if transform.external is not None:
        name, text = transform.external
        known[name] = Constant("string", lambda _: text)
    parts = {part: known[part] for part in transform.parts}
    if transform.nested:
        return {transform.field_name: Nested(parts)}
    return {transform.column(part): source for part, source in parts.items()}


def _given(values: Any) -> Any:
    """Raise if keys or headers are needed and were not read."""
    if values is None:
        problem = "a transform asks for keys or headers, and they were not read"
        raise ValueError(problem)
    return values
