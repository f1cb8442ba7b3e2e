"""What becomes of the records of a batch, noted one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from floe.config.transforms.debezium.new_record_state import NewRecordState
from floe_job.connect.schema import ConnectSchema
from floe_job.convert.typed.whole.values import TypedValues
from floe_job.exceptions import TransformRefused
from floe_job.source.messages import Headers
from floe_job.source.record_batch import UNREADABLE
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.columns import objects_of, schemas_of
from floe_job.transform.debezium.dropped_fields import dropped_names, without
from floe_job.transform.debezium.outcome import Outcome


class MadeRecords:
    """The records of a batch with what becomes of each."""

    def __init__(self, options: NewRecordState, batch: ParsedBatch, values: Sequence[Any]) -> None:
        self._options = options
        self._batch = batch
        self._kept = np.ones(len(batch), np.bool_)
        self._refused: dict[int, str] = {}
        self._values = list(values)
        self._schemas: list[ConnectSchema | None] = list(schemas_of(values))
        self._topics: dict[int, str] = {}
        reads_headers = bool(options.headers or options.drop_header)
        self._headers = list(batch.read_headers()) if reads_headers else []
        self._keys: list[Any] = []
        self._key_schemas: list[ConnectSchema | None] = []
        if options.reads_keys:
            keys = objects_of(batch.parsed_keys)
            self._keys, self._key_schemas = list(keys), list(schemas_of(keys))

    def note(self, row: int, outcome: Outcome | None) -> None:
        """Note what becomes of a record; None leaves it out. Raises TransformRefused."""
        if outcome is None:
            self._kept[row] = False
            return
        value, schema = outcome.value, outcome.schema
        if self._headers:
            self._headers[row] = with_headers(self._headers[row], outcome.headers)
        if self._options.drop_header and outcome.is_change:
            value, schema = self._without_fields(row, outcome)
        self._values[row], self._schemas[row] = value, schema
        if outcome.topic is not None:
            self._topics[row] = outcome.topic

    def refuse(self, row: int, reason: str) -> None:
        """Note that a record is refused."""
        self._refused[row] = reason

    def result(self) -> ParsedBatch:
        """Return the records that are left."""
        is_typed = any(schema is not None for schema in self._schemas)
        changes: dict[str, Any] = {"values": TypedValues(self._values, self._schemas) if is_typed else self._values}
        if self._topics:
            changes["topics"] = [self._topics.get(row, own) for row, own in enumerate(self._batch.read_topics())]
        if self._options.headers:
            changes["headers"] = self._headers
        if self._options.reads_keys:
            changes["keys"] = TypedValues(self._keys, self._key_schemas)
        refused = [row for row in self._refused if self._kept[row]]
        filtered = self._batch.changed(**changes).filter(self._kept)  # type: ignore[arg-type]
        landing = np.cumsum(self._kept) - 1
        return filtered.reject({int(landing[row]): self._refused[row] for row in refused})

    def _without_fields(self, row: int, outcome: Outcome) -> tuple[Any, ConnectSchema | None]:
        names = dropped_names(self._options, self._headers[row] or [])
        if not names:
            return outcome.value, outcome.schema
        if self._options.reads_keys and self._keys[row] is not None:
            self._keys[row], self._key_schemas[row] = without(
                self._options, names, self._keys[row], self._key_schemas[row]
            )
        left = [name for name in names if name not in outcome.fixed]
        return without(self._options, left, outcome.value, outcome.schema)


def with_headers(own: Headers | None, more: Sequence[tuple[str, bytes | None]]) -> Headers | None:
    """Return headers with more of them behind. Raises TransformRefused where the record's own cannot be read."""
    if not more:
        return own
    if own is None:
        raise TransformRefused(UNREADABLE)
    return [*own, *more]
