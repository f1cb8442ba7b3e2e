"""A batch of records in a chain of transforms."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from floe_job.contract.rejected import Rejected
from floe_job.convert.base import Parsed
from floe_job.source.messages import Headers
from floe_job.source.record_batch import ParsedValues, RecordChanges, Records
from floe_job.stages import TRANSFORM

REFUSED = "TransformRefused"
"""The error name of records that a transform refuses."""


@dataclass(frozen=True)
class ParsedBatch:
    """A batch of records in a chain of transforms: the same place in each column is the same record.

    ``source``: the records as Kafka has them, which dead letters keep. ``places``: which of them are left, ascending.
    ``values``: parsed; None is a tombstone. ``topics``, ``keys``, ``headers``, ``timestamps`` (epoch ms): None as long as no
    transform changed them. ``rejected``: by their index in ``source``. ``filtered``: how many were left out.
    """

    source: Records
    places: Sequence[int]
    values: ParsedValues
    topics: Sequence[str] | None = None
    keys: Sequence[Any] | None = None
    headers: Sequence[Headers | None] | None = None
    timestamps: Sequence[int | None] | None = None
    rejected: tuple[Rejected, ...] = ()
    filtered: int = 0

    @classmethod
    def of(cls, source: Records, parsed: Parsed) -> ParsedBatch:
        """Start with records and their parsed values."""
        refused = {one.index for one in parsed.rejected}
        places = [index for index in range(len(source)) if index not in refused]
        return cls(source, places, parsed.values.select(places), rejected=parsed.rejected)

    def __len__(self) -> int:
        return len(self.places)

    # -- what records have besides their value ------------------------------------------------------------------------

    @property
    def partition(self) -> int:
        """The partition of all of them."""
        return self.source.slice_.range.partition

    @property
    def offsets(self) -> list[int]:
        """The offset of each."""
        return [self.source.offsets[place] for place in self.places]

    def read_topics(self) -> Sequence[str]:
        """Return the current topic of each."""
        return [self.source.topic] * len(self) if self.topics is None else self.topics

    def read_keys(self) -> Sequence[Any]:
        """Return the current key of each: bytes, where no transform changed it."""
        return self.source.messages.select(self.places).keys() if self.keys is None else self.keys

    def read_headers(self) -> Sequence[Headers | None]:
        """Return the current headers of each; None where they cannot be read."""
        return self.source.messages.select(self.places).headers() if self.headers is None else self.headers

    def read_timestamps(self) -> Sequence[int | None]:
        """Return the current time of each."""
        return self.source.messages.select(self.places).timestamps() if self.timestamps is None else self.timestamps

    def key_bytes(self) -> list[bytes | None]:
        """Return the current key of each in bytes; a key that a transform changed is written as text or else as JSON."""
        return [_key_bytes(key) for key in self.read_keys()]

    # -- what transforms do -------------------------------------------------------------------------------------------

    def changed(self, **columns: Any) -> ParsedBatch:
        """Return the batch with other ``values``, ``topics``, ``keys``, ``headers`` or ``timestamps``, one for each record.

        Raises ValueError for a column of another length.
        """
        wrong = {name: len(column) for name, column in columns.items() if len(column) != len(self)}
        if wrong:
            problem = f"a transform gave {wrong} for {len(self)} records"
            raise ValueError(problem)
        if "values" in columns:
            columns["values"] = ParsedValues(columns["values"])
        return replace(self, **columns)

    def filter(self, is_kept: Sequence[bool]) -> ParsedBatch:
        """Leave out the others: they are counted as filtered."""
        kept = [row for row, keep in enumerate(is_kept) if keep]
        return replace(self.select(kept), filtered=self.filtered + len(self) - len(kept))

    def reject(self, reasons: Mapping[int, str], error: str = REFUSED) -> ParsedBatch:
        """Refuse records, by their place in this batch: they become dead letters, whole, as Kafka has them."""
        if not reasons:
            return self
        refused = tuple(Rejected(self.places[row], TRANSFORM, reasons[row], error) for row in sorted(reasons))
        left = self.select([row for row in range(len(self)) if row not in reasons])
        return replace(left, rejected=(*self.rejected, *refused))

    def select(self, rows: Sequence[int]) -> ParsedBatch:
        """Return some of the records, by their place in this batch, in ascending order."""
        return replace(
            self,
            places=[self.places[row] for row in rows],
            values=self.values.select(rows),
            topics=_some(self.topics, rows),
            keys=_some(self.keys, rows),
            headers=_some(self.headers, rows),
            timestamps=_some(self.timestamps, rows),
        )

    def parted(self, is_in: Sequence[bool]) -> tuple[ParsedBatch, ParsedBatch]:
        """Split the records in two: the first batch has all that was counted and rejected so far."""
        chosen = self.select([row for row, is_own in enumerate(is_in) if is_own])
        others = self.select([row for row, is_own in enumerate(is_in) if not is_own])
        return chosen, replace(others, rejected=(), filtered=0)

    def joined(self, other: ParsedBatch) -> ParsedBatch:
        """Join two parts again, in the records' order."""
        places = [*self.places, *other.places]
        order = sorted(range(len(places)), key=places.__getitem__)
        both = replace(
            self,
            places=places,
            values=ParsedValues([*self.values, *other.values]),
            topics=_both(self, other, "topics"),
            keys=_both(self, other, "keys"),
            headers=_both(self, other, "headers"),
            timestamps=_both(self, other, "timestamps"),
            rejected=(*self.rejected, *other.rejected),
            filtered=self.filtered + other.filtered,
        )
        return both.select(order)

    # -- results ------------------------------------------------------------------------------------------------------

    def rejected_by_stage(self) -> tuple[list[Rejected], list[Rejected]]:
        """Return what the converter refused, and what transforms refused."""
        by_transforms = [one for one in self.rejected if one.stage == TRANSFORM]
        return [one for one in self.rejected if one.stage != TRANSFORM], by_transforms

    @property
    def tombstones(self) -> int:
        """How many records have no value now: they have no row."""
        return sum(value is None for value in self.values)

    def by_topic(self) -> Iterator[Records]:
        """Yield the records that have a value as they are to be routed, those of each topic together."""
        rows_of: dict[str, list[int]] = {}
        for row, (topic, value) in enumerate(zip(self.read_topics(), self.values, strict=True)):
            if value is not None:
                rows_of.setdefault(topic, []).append(row)
        for topic, rows in rows_of.items():
            changed_rows = self.select(rows)
            keys = None if changed_rows.keys is None else changed_rows.key_bytes()
            yield self.source.select(changed_rows.places).changed(
                RecordChanges(topic, changed_rows.values, keys, changed_rows.headers, changed_rows.timestamps)
            )


def _some(column: Sequence[Any] | None, rows: Sequence[int]) -> Sequence[Any] | None:
    return None if column is None else [column[row] for row in rows]


def _both(first: ParsedBatch, other: ParsedBatch, name: str) -> Sequence[Any] | None:
    """Return a column of two batches; one that neither has changed stays unread."""
    if getattr(first, name) is None and getattr(other, name) is None:
        return None
    return [*getattr(first, f"read_{name}")(), *getattr(other, f"read_{name}")()]


def _key_bytes(key: Any) -> bytes | None:
    """Write a key that a transform changed as a converter of JSON would: text as it is, all else as compact JSON."""
    if key is None or isinstance(key, bytes):
        return key
    text = key if isinstance(key, str) else json.dumps(key, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")
