"""Records on their way from Kafka to their tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import confluent_kafka as ck

from floe_job.letters.letter import Letter
from floe_job.target import Piece
from floe_job.transform.facts import RecordFacts

Headers = list[tuple[str, bytes | None]]

UNREADABLE = "its headers cannot be read: a name in them is not UTF-8"


@dataclass(frozen=True)
class Records:
    """Some records of one piece, in the order of their offsets: offset, value and message of each.

    ``unreadable``: offsets whose headers were found not to be readable, shared by all parts of a batch.
    """

    piece: Piece
    offsets: Sequence[int]
    values: Sequence[Any]
    messages: Sequence[ck.Message]
    unreadable: set[int] = field(default_factory=set, repr=False)

    def __len__(self) -> int:
        return len(self.offsets)

    def select(self, indices: Sequence[int]) -> Records:
        """Return some of the records, by index."""
        return Records(
            self.piece,
            [self.offsets[i] for i in indices],
            [self.values[i] for i in indices],
            [self.messages[i] for i in indices],
            self.unreadable,
        )

    def headers(self, index: int) -> Headers | None:
        """Return a record's headers; None if they cannot be read, which is asked of the client only once.

        A name that is not UTF-8 leaves a broken list in it: asked again, it would give that out.
        """
        if self.offsets[index] in self.unreadable:
            return None
        try:
            return headers_of(self.messages[index])
        except (SystemError, UnicodeError):
            self.unreadable.add(self.offsets[index])
            return None

    def without(self, indices: Collection[int]) -> Records:
        """Return the others."""
        if not indices:
            return self
        gone = set(indices)
        return self.select([i for i in range(len(self)) if i not in gone])

    def facts(self, *, keys: bool, headers: bool) -> RecordFacts:
        """Return what Kafka knows of the records beside their values."""
        tp = self.piece.range.tp
        return RecordFacts(
            tp.topic,
            tp.partition,
            self.offsets,
            [timestamp_of(message) for message in self.messages],
            [key_of(message) for message in self.messages] if keys else None,
            [self.headers(index) for index in range(len(self))] if headers else None,
        )

    def letter(self, index: int, table: str | None, stage: str, error: str, reason: str) -> Letter:
        """Make a dead letter of one record."""
        message, tp = self.messages[index], self.piece.range.tp
        headers = self.headers(index)
        return Letter(
            topic=tp.topic,
            topic_id=self.piece.range.topic_id,
            partition=tp.partition,
            offset=self.offsets[index],
            timestamp=timestamp_of(message),
            key=key_of(message),
            value=self.values[index],
            headers=tuple(headers or ()),
            table=table,
            stage=stage,
            error=error,
            reason=reason if headers is not None else f"{reason} (and {UNREADABLE})",
        )


def timestamp_of(message: ck.Message) -> int | None:
    """Return a record's time in epoch ms; None where the broker has none."""
    kind, timestamp = message.timestamp()
    return None if kind == ck.TIMESTAMP_NOT_AVAILABLE else int(timestamp)


def key_of(message: ck.Message) -> bytes | None:
    """Return a record's key as it stands in the log."""
    key: Any = message.key()
    return key.encode() if isinstance(key, str) else key


def headers_of(message: ck.Message) -> Headers:
    """Return a record's headers in their order."""
    pairs: Any = message.headers() or ()
    return [(name, value.encode() if isinstance(value, str) else value) for name, value in pairs]
