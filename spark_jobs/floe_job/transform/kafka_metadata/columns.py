"""KafkaMetadataTransform: columns with topic, partition, offset, timestamp, key and headers of the records.

They are added to rows that are decoded already, a column at once. They replace fields of the record's value with the same
names, as in the sink, where the transform overwrites them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema, index_by_id, index_by_name
from pyiceberg.types import IcebergType, ListType, StructType

from floe.config.transforms.iceberg import HEADERS, KEY, OFFSET, PARTITION, TIMESTAMP, TOPIC, KafkaMetadata
from floe_job.connect.schema import ConnectSchema, Kind, array, struct
from floe_job.convert.typed.whole_values import TypedValues
from floe_job.exceptions import TransformRefused, Unconvertible
from floe_job.schema.evolution import Path
from floe_job.schema.limits import full_names
from floe_job.schema.proposal import ListOf, Proposal, StructOf
from floe_job.source.record_batch import UNREADABLE
from floe_job.transform.base import Refusal
from floe_job.transform.batch import ParsedBatch, schemas_of
from floe_job.transform.kafka_metadata.fill import MetadataColumn, MetadataPlace
from floe_job.transform.kafka_metadata.sources import Filler, Source, sources
from floe_job.transform.record_metadata import RecordMetadata
from floe_job.transform.struct_fields import required_struct, struct_like
from floe_job.transform.value_change import MAX_KNOWN

ELEMENT = "element"


def missing(known: IcebergType, wanted: Proposal, path: Path = ()) -> Iterator[tuple[Path, Proposal]]:
    """Yield what is missing inside a column; one of another kind than the proposal is not changed."""
    if isinstance(known, StructType) and isinstance(wanted, StructOf):
        fields = {field.name: field.field_type for field in known.fields}
        for name, proposal in wanted.fields:
            if name in fields:
                yield from missing(fields[name], proposal, (*path, name))
            else:
                yield (*path, name), proposal
    elif isinstance(known, ListType) and isinstance(wanted, ListOf):
        yield from missing(known.element_type, wanted.element, (*path, ELEMENT))


class MetadataColumns:
    """The injected columns of one table, whose schema is None while it does not exist.

    ``injected``: top-level names that belong to the transforms, whether the table has them or not.
    ``record_schema``: the table's schema without them, field ids kept; it may be left without any field.
    """

    def __init__(self, schema: Schema | None, transforms: Sequence[KafkaMetadata], *, fold: bool = False) -> None:
        """Compile the columns that the table has; with ``fold`` regardless of case. Raises UnsupportedColumn."""
        spelled = {field.name.lower(): field.name for field in schema.fields} if fold and schema is not None else {}
        self._sources: dict[str, Source] = {}
        for transform in transforms:
            self._sources |= {spelled.get(name.lower(), name): one for name, one in sources(transform).items()}
        self._schema = schema
        self.injected = frozenset(self._sources)
        self.with_keys = any(transform.key for transform in transforms)
        self.with_headers = any(transform.headers for transform in transforms)
        self.record_schema = None if schema is None else _without(schema, self.injected)
        self._arrow_schema = None if schema is None else schema_to_pyarrow(schema)
        self._fillers = self._compile()

    @property
    def full_names(self) -> frozenset[str]:
        """The dotted names of all that the transforms fill in, in the table already or not."""
        there = () if self._schema is None else index_by_name(self._schema)
        own = {name for name in there if name.partition(".")[0] in self.injected or name in self.injected}
        return frozenset(own).union(*(full_names(path, proposal) for path, proposal in self.needs().items()))

    def needs(self) -> dict[Path, Proposal]:
        """Propose what the table lacks, also inside of columns that it has, in order."""
        wanted = StructOf(tuple((name, source.proposal) for name, source in self._sources.items()))
        return dict(missing(StructType() if self._schema is None else self._schema.as_struct(), wanted))

    def fill(self, rows: pa.Table, metadata: RecordMetadata) -> tuple[pa.Table, list[Refusal]]:
        """Put the injected columns between those of ``rows``; rows that they refuse are left out.

        ``rows`` has the Arrow schema of ``record_schema``, the result that of the whole schema, in its order. When no
        column comes from the records, Arrow has no number of rows: then ``facts`` provides it.

        Each refusal: index within ``rows``, name of the error, reason.
        """
        if self._arrow_schema is None:
            problem = "the table does not exist yet: there is nothing to fill"
            raise ValueError(problem)
        if rows.num_columns and rows.num_rows != len(metadata):
            problem = f"{rows.num_rows} rows with the facts of {len(metadata)} records"
            raise ValueError(problem)
        columns = self._columns(metadata)
        refused = {i: reason for column in reversed(columns.values()) for i, reason in column.refused.items()}
        if refused:
            kept = [index for index in range(len(metadata)) if index not in refused]
            rows = rows.take(pa.array(kept, pa.int64())) if rows.num_columns else rows
            columns = self._columns(metadata.take(kept))
        arrays = [columns[name].array if name in columns else rows[name] for name in self._arrow_schema.names]
        table = pa.Table.from_arrays(arrays, schema=self._arrow_schema)
        return table, [(index, Unconvertible.__name__, refused[index]) for index in sorted(refused)]

    def _columns(self, metadata: RecordMetadata) -> dict[str, MetadataColumn]:
        return {name: fill(metadata) for name, fill in self._fillers.items()}

    def _compile(self) -> dict[str, Filler]:
        """Compile by name, in the schema's order."""
        if self._schema is None or self._arrow_schema is None:
            return {}
        return {
            column.name: self._sources[column.name].filler(MetadataPlace.of(column, arrow))
            for column, arrow in zip(self._schema.fields, self._arrow_schema, strict=True)
            if column.name in self._sources
        }


def _without(schema: Schema, injected: frozenset[str]) -> Schema:
    """Leave columns out; identifier fields inside of them go with them."""
    if injected.isdisjoint(column.name for column in schema.fields):
        return schema
    left = Schema(*(column for column in schema.fields if column.name not in injected))
    identifiers = [field_id for field_id in schema.identifier_field_ids if field_id in index_by_id(left)]
    return Schema(*left.fields, schema_id=schema.schema_id, identifier_field_ids=identifiers)


# KafkaMetadataTransform on whole records, used where later transforms may change what it added.


_TEXT: Final = ConnectSchema(Kind.STRING, optional=True)
_SCHEMAS: Final = {
    TOPIC: ConnectSchema(Kind.STRING),
    PARTITION: ConnectSchema(Kind.INT32),
    OFFSET: ConnectSchema(Kind.INT64),
    TIMESTAMP: ConnectSchema(Kind.INT64, optional=True),
    KEY: _TEXT,
    HEADERS: array(struct({"key": ConnectSchema(Kind.STRING), "value": _TEXT})),
}
_PURPOSE: Final = "Kafka's metadata"


class MetadataRecords:
    """Puts fields into the records' objects, where they replace those of the same names, or into their structs."""

    def __init__(self, options: KafkaMetadata) -> None:
        self._options = options
        self._sources = sources(options)
        parts = [(part, _SCHEMAS.get(part, ConnectSchema(Kind.STRING))) for part in options.parts]
        self._fields = (
            ((options.field_name, struct(dict(parts))),)
            if options.nested
            else tuple((options.column(part), schema) for part, schema in parts)
        )
        self._known: dict[int, tuple[ConnectSchema, ConnectSchema | str]] = {}

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Add the fields. A tombstone stays one; a value that is no object, or headers that cannot be read, are refused."""
        batch = batch.reject(
            {
                row: "Kafka's metadata goes into objects only, and the value is none"
                for row, value in enumerate(batch.values)
                if value is not None and not isinstance(value, dict)
            }
        )
        if self._options.headers:
            batch = batch.reject({row: UNREADABLE for row, one in enumerate(batch.read_headers()) if one is None})
        schemas = [None if schema is None else self._schema(schema) for schema in schemas_of(batch.values)]
        refused = {row: schema for row, schema in enumerate(schemas) if isinstance(schema, str)}
        if refused:
            batch = batch.reject(refused)
            schemas = [one for one in schemas if not isinstance(one, str)]
        values: list[Any] = list(batch.values)
        rows_of: dict[str, list[int]] = {}
        for row, topic in enumerate(batch.read_topics()):
            rows_of.setdefault(topic, []).append(row)
        for topic, rows in rows_of.items():
            for row, added in zip(rows, self._added(topic, batch.select(rows)), strict=True):
                if values[row] is not None:
                    values[row] = {**values[row], **added}
        is_typed = isinstance(batch.values, TypedValues)
        return batch.changed(values=TypedValues(values, schemas) if is_typed else values)  # type: ignore[arg-type]

    def _schema(self, schema: ConnectSchema) -> ConnectSchema | str:
        """Return the schema of structs with the fields, or why there is none."""
        known = self._known.get(id(schema))
        if known is None:
            made: ConnectSchema | str
            try:
                required_struct(schema, _PURPOSE)
                made = struct_like(schema, (*schema.fields, *self._fields), optional=False)
            except TransformRefused as error:
                made = error.reason
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[id(schema)] = (schema, made)
        return known[1]

    def _added(self, topic: str, batch: ParsedBatch) -> list[dict[str, Any]]:
        metadata = RecordMetadata(
            topic,
            batch.partition,
            batch.offsets,
            batch.read_timestamps(),
            batch.key_bytes() if self._options.key else None,
            batch.read_headers() if self._options.headers else None,
        )
        columns = {name: source.values(metadata) for name, source in self._sources.items()}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        if self._options.nested and isinstance(batch.values, TypedValues):
            nothing = dict.fromkeys(self._options.parts)
            return [{name: {**nothing, **parts} for name, parts in row.items()} for row in rows]
        return rows
