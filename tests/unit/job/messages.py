"""Records as a consumer hands them out, without a broker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floe.offsets.ranges import OffsetRange
from floe_job.records import Records
from floe_job.target import Piece

RANGE, OTHER = (OffsetRange("pizzas", "T1", p, 0, 1000) for p in range(2))
PIECE, OTHER_PIECE = Piece(RANGE, 0, 1000), Piece(OTHER, 0, 1000)


@dataclass(frozen=True)
class Message:
    """Stands in for a consumer's message: what floe asks of one."""

    offset: int
    given_key: bytes | None = b"k"
    given_headers: tuple[tuple[str, bytes | None], ...] = (("h", b"v"),)

    def key(self) -> bytes | None:
        return self.given_key

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return list(self.given_headers)

    def timestamp(self) -> int | None:
        return 7000 + self.offset


def records(piece: Piece, values: Sequence[bytes], messages: Sequence[Message] | None = None) -> Records:
    """Return records at the offsets 0, 1, 2…"""
    offsets = range(len(values))
    given = messages if messages is not None else [Message(offset) for offset in offsets]
    return Records(piece, list(offsets), list(values), list(given))
