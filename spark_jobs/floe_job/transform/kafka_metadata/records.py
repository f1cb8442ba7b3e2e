"""KafkaMetadataTransform on whole records, used where later transforms may change what it added."""

from __future__ import annotations

from typing import Any, Final

from floe.config.transforms.kafka_metadata import HEADERS, KEY, OFFSET, PARTITION, TIMESTAMP, TOPIC, KafkaMetadata
from floe_job.connect.schema import ConnectSchema, Kind, array, struct
from floe_job.convert.typed.whole.values import TypedValues
from floe_job.exceptions import TransformRefused
from floe_job.source.record_batch import UNREADABLE
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.columns import schemas_of
from floe_job.transform.kafka_metadata.sources import sources
from floe_job.transform.record_metadata import RecordMetadata
from floe_job.transform.requirements import required_struct
from floe_job.transform.struct_fields import struct_like
from floe_job.transform.value_change import MAX_KNOWN

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
