"""The records of a batch with what becomes of each, noted one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from floe_job.connect.schema import ConnectSchema
from floe_job.convert.typed.whole.values import TypedValues
from floe_job.exceptions import TransformRefused
from floe_job.source.messages import Headers
from floe_job.source.record_batch import UNREADABLE
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.columns import objects_of, schemas_of


class ChangedRecords:
    """What becomes of the records of a batch, by their place in it; what is not noted stays as it is."""

    def __init__(self, batch: ParsedBatch) -> None:
        """``batch``: with its values, and with its keys, if they are read or set."""
        self._batch = batch
        self._kept = np.ones(len(batch), np.bool_)
        self._refused: dict[int, str] = {}
        values = objects_of(batch.values)
        self.values: list[Any] = list(values)
        self.schemas: list[ConnectSchema | None] = list(schemas_of(values))
        keys = [] if batch.parsed_keys is None else objects_of(batch.parsed_keys)
        self.keys: list[Any] = list(keys)
        self.key_schemas: list[ConnectSchema | None] = list(schemas_of(keys))
        self._other_keys = np.zeros(len(batch), np.bool_)
        self._topics: dict[int, str] = {}
        self._headers: dict[int, Headers] = {}

    def each(self, change: Callable[[int, Any, ConnectSchema | None], None]) -> ParsedBatch:
        """Call ``change`` with each place, value and schema, and return what is left; it may raise TransformRefused."""
        for row, value, schema in self._rows():
            try:
                change(row, value, schema)
            except TransformRefused as error:
                self._refused[row] = error.reason
        return self._result()

    def leave_out(self, row: int) -> None:
        """Leave a record out: it is counted as filtered."""
        self._kept[row] = False

    def set_value(self, row: int, value: Any, schema: ConnectSchema | None) -> None:
        """Give a record another value; None for a tombstone."""
        self.values[row], self.schemas[row] = value, None if value is None else schema

    def set_key(self, row: int, key: Any, schema: ConnectSchema | None) -> None:
        """Give a record another key."""
        self.keys[row], self.key_schemas[row] = key, None if key is None else schema
        self._other_keys[row] = True

    def set_topic(self, row: int, topic: str) -> None:
        """Give a record another topic."""
        self._topics[row] = topic

    def set_headers(self, row: int, headers: Headers) -> None:
        """Give a record other headers."""
        self._headers[row] = headers

    def _rows(self) -> Iterator[tuple[int, Any, ConnectSchema | None]]:
        yield from zip(range(len(self._batch)), list(self.values), list(self.schemas), strict=True)

    def _result(self) -> ParsedBatch:
        changes: dict[str, Any] = {"values": _with_schemas(self.values, self.schemas)}
        if self._other_keys.any():
            changes |= {"keys": _with_schemas(self.keys, self.key_schemas), "other_keys": self._other_keys}
        if self._topics:
            changes["topics"] = [self._topics.get(row, own) for row, own in enumerate(self._batch.read_topics())]
        if self._headers:
            changes["headers"] = [self._headers.get(row, own) for row, own in enumerate(self._batch.read_headers())]
        kept = self._batch.changed(**changes).filter(self._kept)  # type: ignore[arg-type]
        landing = (np.cumsum(self._kept) - 1).tolist()
        return kept.reject({landing[row]: reason for row, reason in self._refused.items() if self._kept[row]})


def with_headers(own: Headers | None, more: Sequence[tuple[str, bytes | None]]) -> Headers:
    """Return headers with more of them behind. Raises TransformRefused where the record's own cannot be read."""
    if own is None:
        raise TransformRefused(UNREADABLE)
    return [*own, *more]


def _with_schemas(values: list[Any], schemas: list[ConnectSchema | None]) -> Any:
    return TypedValues(values, schemas) if any(schema is not None for schema in schemas) else values
