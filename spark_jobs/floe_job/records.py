"""Records on their way from Kafka to their tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from floe_job.consume.message import Headers, Messages
from floe_job.consume.values import Values
from floe_job.letters.letter import Letter
from floe_job.target import Piece
from floe_job.transform.facts import RecordFacts

UNREADABLE = "its headers cannot be read: they are broken, or a name in them is not UTF-8"


@dataclass(frozen=True)
class Records:
    """Some records of one piece, in the order of their offsets: offset, value and the rest of each."""

    piece: Piece
    offsets: Sequence[int]
    values: Values
    messages: Messages

    def __len__(self) -> int:
        return len(self.offsets)

    def select(self, indices: Sequence[int]) -> Records:
        """Return some of the records, by index."""
        return Records(
            self.piece,
            [self.offsets[i] for i in indices],
            self.values.select(indices),
            self.messages.select(indices),
        )

    def without_tombstones(self) -> Records:
        """Return the records that have a value."""
        kept = self.values.present()
        return self if len(kept) == len(self) else self.select(kept)

    def headers(self, index: int) -> Headers | None:
        """Return a record's headers; None if they cannot be read."""
        return self.messages[index].headers()

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
            self.messages.timestamps(),
            self.messages.keys() if keys else None,
            self.messages.headers() if headers else None,
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
            timestamp=message.timestamp(),
            key=message.key(),
            value=self.values[index],
            headers=tuple(headers or ()),
            table=table,
            stage=stage,
            error=error,
            reason=reason if headers is not None else f"{reason} (and {UNREADABLE})",
        )
