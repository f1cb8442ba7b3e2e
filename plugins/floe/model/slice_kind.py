"""Why a slice is read, by the word that plans, the header ``floe-kind`` and the snapshot property ``floe.kind`` have."""

from enum import StrEnum


class SliceKind(StrEnum):
    """It decides where a slice begins and what moves after its commit; each table's write mode decides what is written."""

    LIVE = "live"
    """New records, for all tables that are not behind on the partition. The group's offsets move."""
    CATCH_UP = "catch-up"
    """The backlog of one table. Its start in the group's metadata moves."""
    SKIP = "skip"
    """A replay of what a table does not contain. Nothing moves, as in all replays."""
    APPEND = "append"
    """A replay of all offsets, also of those that a table contains."""
    REPLACE = "replace"
    """A replay of all offsets, in the place of the rows that a table has of them."""
    REDRIVE = "redrive"
    """A replay of records that became dead letters."""

    @classmethod
    def _missing_(cls, value: object) -> None:
        msg = f"no slice is of kind {value!r}; floe knows {', '.join(sorted(cls))}"
        raise ValueError(msg)

    @property
    def is_replay(self) -> bool:
        """Say whether the slice is of a replay: no group offset moves, and no table gets a backlog."""
        return self not in (SliceKind.LIVE, SliceKind.CATCH_UP)
