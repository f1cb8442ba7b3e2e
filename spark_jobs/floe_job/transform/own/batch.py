"""The records that a transform of the user gets, and returns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import pyarrow as pa

from floe_job.transform.own.json_line import json_line
from floe_job.types.number_tokens import Literal

TIMESTAMP = pa.timestamp("ms", "UTC")
HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))


@dataclass(frozen=True)
class Batch:
    """Some records of one partition, a column for each part of them: the same row in each column is the same record.

    A transform is a class with a ``version`` (a literal number), made with its options, a dict of strings, that has one
    method ``apply(batch: Batch) -> Batch``. It returns as many rows as it got, in their order. Each row must depend on its
    record and the options alone: how many records are in a batch differs from run to run.

    ``topic``: string; another topic routes the record there. ``partition`` (int32), ``offset`` (int64): they stay.
    ``timestamp``: timestamp[ms, UTC], null where the broker has none. ``key``: binary, as the producer wrote it.
    ``headers``: list<struct<key: string, value: binary>>, null where they cannot be read.
    ``value``: of values with a schema a struct, its fields in the Arrow types of ``floe_job.connect.arrow``. A batch has
    values of one schema. The returned struct may have other fields, of which each may be null. Of values without a schema
    it is a string, the JSON text: see ``objects``. A null is a tombstone. A struct stays a struct, and a text a text.
    ``kept``: bool; a record without it is left out, and counted as filtered.
    ``refused``: by row the reason; such a record becomes a dead letter, as Kafka has it.
    """

    topic: pa.Array
    partition: pa.Array
    offset: pa.Array
    timestamp: pa.Array
    key: pa.Array
    headers: pa.Array
    value: pa.Array
    kept: pa.Array
    refused: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Sequence[Any], topic: str = "topic") -> Self:
        """Make a batch of JSON objects for a test: None is a tombstone, offsets begin at 0, all else is null."""
        count = len(values)
        return cls(
            pa.array([topic] * count, pa.string()),
            pa.array([0] * count, pa.int32()),
            pa.array(range(count), pa.int64()),
            pa.nulls(count, TIMESTAMP),
            pa.nulls(count, pa.binary()),
            pa.array([[]] * count, HEADERS),
            pa.array([None if value is None else json_line(value) for value in values], pa.string()),
            pa.array([True] * count, pa.bool_()),
        )

    def __len__(self) -> int:
        return len(self.topic)

    def objects(self) -> list[Any]:
        """Parse the JSON of each value: dicts, lists, texts, numbers; None for a tombstone. Floats keep all their digits.

        Raises TypeError for values with a schema: use ``value``.
        """
        if pa.types.is_struct(self.value.type):
            problem = "values with a schema are no JSON: read the column `value`"
            raise TypeError(problem)
        return [
            None if text is None else json.loads(text.as_py(), parse_float=Literal)
            for text in (text if text.is_valid else None for text in self.value)
        ]

    def with_objects(self, objects: Sequence[Any]) -> Self:
        """Return the batch with these values as JSON; None is a tombstone. Raises TypeError for what JSON has no form for."""
        texts = [None if value is None else json_line(value) for value in objects]
        return replace(self, value=pa.array(texts, pa.string()))

    def changed(self, **columns: Any) -> Self:
        """Return the batch with other ``topic``, ``timestamp``, ``key``, ``headers`` or ``value``."""
        return replace(self, **columns)

    def taken(self, rows: pa.Array) -> Self:
        """Return some of the rows, by their places."""
        columns = {one.name: getattr(self, one.name).take(rows) for one in fields(self) if one.name != "refused"}
        return replace(self, **columns)

    def filter(self, is_kept: Any) -> Self:
        """Return the batch without the records for which the mask is false: a bool column, or a list."""
        mask = is_kept if isinstance(is_kept, pa.Array | pa.ChunkedArray) else pa.array(is_kept, pa.bool_())
        kept = pa.array([one and two for one, two in zip(self.kept.to_pylist(), mask.to_pylist(), strict=True)])
        return replace(self, kept=kept)

    def refuse(self, reasons: Mapping[int, str]) -> Self:
        """Return the batch with rows refused, by their place."""
        return replace(self, refused={**self.refused, **reasons})
