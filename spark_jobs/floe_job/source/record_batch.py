"""Records on their way from Kafka to their tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from floe.model.offsets import OffsetRange
from floe_job.source.messages import Headers, Messages
from floe_job.source.values import Values

UNREADABLE = "its headers cannot be read: they are broken, or a name in them is not UTF-8"


class ParsedValues(list[Any]):
    """Values as a converter parsed them, or as transforms left them: objects, not bytes. None is a tombstone."""

    def select(self, indices: Sequence[int]) -> ParsedValues:
        """Return some of the values, by index."""
        return ParsedValues([self[i] for i in indices])


@dataclass(frozen=True)
class RecordChanges:
    """Records as routing and tables see them after the transforms: the same place in each column is the same record.

    ``values``, ``keys``, ``headers`` and ``timestamps`` (epoch ms) are None where no transform read or changed any.
    """

    topic: str
    values: Any = None
    keys: Sequence[bytes | None] | None = None
    headers: Sequence[Headers | None] | None = None
    timestamps: Sequence[int | None] | None = None

    def select(self, indices: Sequence[int]) -> RecordChanges:
        """Return those of some records, by index."""
        return RecordChanges(
            self.topic,
            None if self.values is None else self.values.select(indices),
            None if self.keys is None else [self.keys[i] for i in indices],
            None if self.headers is None else [self.headers[i] for i in indices],
            None if self.timestamps is None else [self.timestamps[i] for i in indices],
        )


@dataclass(frozen=True)
class Records:
    """Some records of one range part, in the order of their offsets: offset, value and the rest of each, as Kafka has them.

    ``changes``: the changes by transforms. Routing and tables read ``topic``, ``content``, ``keys`` … with these changes;
    dead letters keep ``values`` and ``messages``. ``encoded``: the values as converters read them, where these are others.
    """

    part: RangePart
    offsets: Sequence[int]
    values: Values
    messages: Messages
    changes: RecordChanges | None = None
    encoded: Values | None = None

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def topic(self) -> str:
        """The topic that the records are routed by."""
        return self.part.range.topic if self.changes is None else self.changes.topic

    @property
    def content(self) -> Sequence[Any] | ParsedValues:
        """The values that become rows."""
        changed = None if self.changes is None else self.changes.values
        return self.bytes_of_values if changed is None else changed

    @property
    def bytes_of_values(self) -> Sequence[Any]:
        """The values that converters read; None for tombstones."""
        return self.values if self.encoded is None else self.encoded

    def keys(self) -> Sequence[bytes | None]:
        """Return the key of each."""
        changed = None if self.changes is None else self.changes.keys
        return self.messages.keys() if changed is None else changed

    def all_headers(self) -> Sequence[Headers | None]:
        """Return the headers of each; None where they cannot be read."""
        changed = None if self.changes is None else self.changes.headers
        return self.messages.headers() if changed is None else changed

    def timestamps(self) -> Sequence[int | None]:
        """Return the time of each, in epoch ms; None where the broker has none."""
        changed = None if self.changes is None else self.changes.timestamps
        return self.messages.timestamps() if changed is None else changed

    def changed(self, changes: RecordChanges) -> Records:
        """Return the same records as transforms left them."""
        return replace(self, changes=changes)

    def select(self, indices: Sequence[int]) -> Records:
        """Return some of the records, by index."""
        return Records(
            self.part,
            [self.offsets[i] for i in indices],
            self.values.select(indices),
            self.messages.select(indices),
            None if self.changes is None else self.changes.select(indices),
            None if self.encoded is None else self.encoded.select(indices),
        )

    def without_tombstones(self) -> Records:
        """Return the records that have a value."""
        return self.select(self.values.present()) if self.values.has_tombstones else self

    def tombstones(self) -> Records:
        """Return the records that have none."""
        return self.without(self.values.present())

    def headers(self, index: int) -> Headers | None:
        """Return a record's headers; None if they cannot be read."""
        if self.changes is not None and self.changes.headers is not None:
            return self.changes.headers[index]
        return self.messages[index].headers()

    def without(self, indices: Collection[int]) -> Records:
        """Return the others."""
        if not indices:
            return self
        gone = set(indices)
        return self.select([i for i in range(len(self)) if i not in gone])


# Part of a range, read by one task.


@dataclass(frozen=True)
class RangePart:
    """Part of a range that one task reads. ``epoch``: the leader epoch in which its range was planned, if it is known."""

    range: OffsetRange
    start: int
    end: int
    epoch: int | None = None

    @property
    def offsets(self) -> OffsetRange:
        return OffsetRange(self.range.topic, self.range.topic_id, self.range.partition, self.start, self.end)
