"""KafkaMetadataTransform on whole records, used where later transforms may change what it added."""

from __future__ import annotations

from typing import Any

from floe.config.transforms.kafka_metadata import KafkaMetadata
from floe_job.source.record_batch import UNREADABLE
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.kafka_metadata.sources import sources
from floe_job.transform.record_metadata import RecordMetadata


class MetadataRecords:
    """Puts fields into the records' objects; they replace fields of a record with the same names."""

    def __init__(self, options: KafkaMetadata) -> None:
        self._options = options
        self._sources = sources(options)

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
        values: list[Any] = list(batch.values)
        rows_of: dict[str, list[int]] = {}
        for row, topic in enumerate(batch.read_topics()):
            rows_of.setdefault(topic, []).append(row)
        for topic, rows in rows_of.items():
            for row, added in zip(rows, self._fields(topic, batch.select(rows)), strict=True):
                if values[row] is not None:
                    values[row] = {**values[row], **added}
        return batch.changed(values=values)

    def _fields(self, topic: str, batch: ParsedBatch) -> list[dict[str, Any]]:
        metadata = RecordMetadata(
            topic,
            batch.partition,
            batch.offsets,
            batch.read_timestamps(),
            batch.key_bytes() if self._options.key else None,
            batch.read_headers() if self._options.headers else None,
        )
        columns = {name: source.values(metadata) for name, source in self._sources.items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
