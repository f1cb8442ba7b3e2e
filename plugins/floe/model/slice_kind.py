"""Why a slice is read and how its rows are written, and the word for both in stored and sent data."""

from collections.abc import Mapping
from enum import StrEnum


class ReadReason(StrEnum):
    """Why a slice is read: it decides where the slice begins and what moves after its commit."""

    LIVE = "live"
    """New records, for all tables that are not behind on the partition. The group's offsets move."""
    CATCH_UP = "catch-up"
    """The backlog of one table. Its start in the group's metadata moves."""
    REPLAY = "replay"
    """Offsets that were read before. Nothing moves."""
    DEAD_LETTERS = "dead-letters"
    """Records that became dead letters. Nothing moves."""

    @property
    def is_replay(self) -> bool:
        """Say whether the slice is of a replay: no group offset moves, and no table gets a backlog."""
        return self in (ReadReason.REPLAY, ReadReason.DEAD_LETTERS)


class WriteModeName(StrEnum):
    """How the rows of a slice are written; ``floe.modes`` has the implementation of each."""

    APPEND = "append"
    """Append the offsets that the table does not contain."""
    APPEND_AGAIN = "append-again"
    """Append all offsets, also those that the table contains."""
    REPLACE = "replace"
    """Remove the rows that the table has of the ranges and write all of them, in one snapshot."""
    RECOVER = "recover"
    """Append the rows of dead letters. The ledger already contains their offsets, without a row."""

    @property
    def removes_rows(self) -> bool:
        """Say whether rows of the ranges are removed: a table is announced and committed even without a file."""
        return self is WriteModeName.REPLACE


KINDS: Mapping[tuple[ReadReason, WriteModeName], str] = {
    (ReadReason.LIVE, WriteModeName.APPEND): "live",
    (ReadReason.CATCH_UP, WriteModeName.APPEND): "catch-up",
    (ReadReason.REPLAY, WriteModeName.APPEND): "skip",
    (ReadReason.REPLAY, WriteModeName.APPEND_AGAIN): "append",
    (ReadReason.REPLAY, WriteModeName.REPLACE): "replace",
    (ReadReason.DEAD_LETTERS, WriteModeName.RECOVER): "redrive",
}
"""The word in plans, the header ``floe-kind`` and the snapshot property ``floe.kind``, by reason and mode."""


def kind_of(reason: ReadReason, mode: WriteModeName) -> str:
    """Return the word for a reason and a mode. Raises ValueError for a combination that no slice has."""
    try:
        return KINDS[reason, mode]
    except KeyError:
        msg = f"no slice is read for {reason.value!r} and written by {mode.value!r}"
        raise ValueError(msg) from None


def reason_and_mode(kind: str) -> tuple[ReadReason, WriteModeName]:
    """Return the reason and the mode of a word. Raises ValueError for an unknown one."""
    for both, known in KINDS.items():
        if known == kind:
            return both
    msg = f"no slice is of kind {kind!r}; floe knows {', '.join(sorted(KINDS.values()))}"
    raise ValueError(msg)
