"""Records on their way from Kafka to their tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from floe_job.source.messages import Headers, Messages
from floe_job.source.piece import Piece
from floe_job.source.values import Values

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
