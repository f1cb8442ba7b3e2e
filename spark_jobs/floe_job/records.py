"""Records on their way from Kafka to their tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from floe_job.consume.message import Headers, Messages
from floe_job.consume.values import Values
from floe_job.decode.results import Rejected
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

    def letters(self, refused: Iterable[Rejected], table: str | None) -> list[Letter]:
        """Make dead letters of records, all at once: what each has beside its value is read for all of them together."""
        refused = list(refused)
        if not refused:
            return []
        tp, topic_id = self.piece.range.tp, self.piece.range.topic_id
        indices = [one.index for one in refused]
        messages, values = self.messages.select(indices), self.values.select(indices)
        beside = zip(messages.timestamps(), messages.keys(), values, messages.headers(), strict=True)
        return [
            Letter(
                topic=tp.topic,
                topic_id=topic_id,
                partition=tp.partition,
                offset=self.offsets[one.index],
                timestamp=timestamp,
                key=key,
                value=value,
                headers=tuple(headers or ()),
                table=table,
                stage=one.stage,
                error=one.error,
                reason=one.reason if headers is not None else f"{one.reason} (and {UNREADABLE})",
            )
            for one, (timestamp, key, value, headers) in zip(refused, beside, strict=True)
        ]
