"""The metadata of records: what Kafka stores besides their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from floe_job.source.record_batch import Records

Headers = Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True)
class RecordMetadata:
    """Metadata of records of one partition, one entry per record.

    ``timestamps`` are epoch milliseconds, None where the broker has none. ``offsets`` and ``timestamps`` may be int64
    arrays of numpy or Arrow. ``keys`` and ``headers`` are None when no transform needs them; a record without headers
    has None or an empty list.
    """

    topic: str
    partition: int
    offsets: Sequence[int]
    timestamps: Sequence[int | None]
    keys: Sequence[bytes | None] | None = None
    headers: Sequence[Headers | None] | None = None

    def __len__(self) -> int:
        return len(self.offsets)

    def take(self, kept: Sequence[int]) -> RecordMetadata:
        """Return the metadata of some records, by index."""
        return RecordMetadata(
            self.topic,
            self.partition,
            _take(self.offsets, kept),
            _take(self.timestamps, kept),
            None if self.keys is None else _take(self.keys, kept),
            None if self.headers is None else _take(self.headers, kept),
        )


def metadata_of(records: Records, *, keys: bool, headers: bool) -> RecordMetadata:
    """Return the metadata of the records."""
    tp = records.part.range.tp
    return RecordMetadata(
        records.topic,
        tp.partition,
        records.offsets,
        records.timestamps(),
        records.keys() if keys else None,
        records.all_headers() if headers else None,
    )


def _take(values: Any, kept: Sequence[int]) -> Any:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values.take(pa.array(kept, pa.int64()))
    return [values[index] for index in kept]
