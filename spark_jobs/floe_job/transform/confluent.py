"""Confluent's transforms ``ExtractTopic`` and ``TombstoneHandler``."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from floe.config.transforms.confluent import ExtractTopic, TombstoneHandler
from floe_job.convert.typed.whole_values import TypedColumns
from floe_job.source.messages import Headers
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.struct_fields import shown
from floe_job.types.typed_values import Meant

# Confluent's ExtractTopic: a key, a value, a field of these or a header becomes the topic.


_MISSING = object()


class ExtractedTopics:
    """Gives each record the topic that it names: a ``RecordTransform``."""

    def __init__(self, options: ExtractTopic) -> None:
        self._options = options

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Name the topics; a record that names none is refused, or keeps its own."""
        topics, refused = list(batch.read_topics()), {}
        for row, found in enumerate(self._named(batch)):
            value = found.raw if isinstance(found, Meant) else found
            if isinstance(value, str) and value:
                topics[row] = value
            elif value is _MISSING or value is None or value == "":
                if not self._options.skips:
                    refused[row] = f"{self._what()} is missing, null or empty: no topic can be named after it"
            else:
                refused[row] = f"{self._what()} is no text, but {shown(value)}: no topic can be named after it"
        return batch.changed(topics=topics).reject(refused)

    def _named(self, batch: ParsedBatch) -> Sequence[Any] | Iterator[Any]:
        if self._options.source == "header":
            return (_last(headers, self._options.header) for headers in batch.read_headers())
        if self._options.source == "key":
            return (_at(key, self._options.path) for key in batch.parsed_keys)
        column = self._column(batch)
        return (
            column if column is not None else (_at(value, self._options.path) for value in batch.with_objects().values)
        )

    def _column(self, batch: ParsedBatch) -> list[Any] | None:
        """Return the named fields of values that are columns; None where they have to be read one by one."""
        values, path = batch.values, self._options.path
        if not isinstance(values, TypedColumns) or values.schemaless is not None or len(path) != 1:
            return None
        found: list[Any] = [_MISSING] * len(batch)
        for part in values.parts:
            kinds = {name: schema.kind.value for name, schema in part.schema.fields}
            if kinds.get(str(path[0])) != "string":
                return None
            for place, value in zip(part.places.tolist(), part.column.field(path[0]).to_pylist(), strict=True):
                found[place] = value
        return found

    def _what(self) -> str:
        if self._options.source == "header":
            return f"the header {shown(self._options.header)}"
        where = f"the record's {self._options.source}"
        return f"{shown('.'.join(map(str, self._options.path)))} of {where}" if self._options.path else where


def _at(value: Any, path: Sequence[str | int]) -> Any:
    """Return what a path leads to in a value."""
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step, _MISSING)
        elif isinstance(step, int) and isinstance(value, list) and step < len(value):
            value = value[step]
        else:
            return _MISSING
    return value


def _last(headers: Headers | None, name: str) -> Any:
    """Return the text of the last header of a name."""
    found = next((value for key, value in reversed(headers or []) if key == name), None)
    if found is None:
        return _MISSING
    try:
        return found.decode()
    except UnicodeDecodeError:
        return found


# Confluent's TombstoneHandler: tombstones are left out, or refused.


_log = logging.getLogger(__name__)


class Tombstones:
    """Leaves tombstones out, or refuses them: a ``RecordTransform``."""

    def __init__(self, options: TombstoneHandler) -> None:
        self._behavior = options.behavior

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Handle the tombstones; other records stay as they are."""
        is_tombstone = batch.is_tombstone
        if not is_tombstone.any():
            return batch
        rows = np.flatnonzero(is_tombstone).tolist()
        if self._behavior == "fail":
            return batch.reject(dict.fromkeys(rows, "the record is a tombstone, and behavior is fail"))
        if self._behavior == "warn":
            _log.warning(
                "%d tombstones of partition %d of topic %s are left out, the first at offset %d",
                *(len(rows), batch.partition, batch.source.part.range.topic, batch.offsets[rows[0]]),
            )
        return batch.filter((~is_tombstone).tolist())
