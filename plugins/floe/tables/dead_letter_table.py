"""The connector's dead-letter table: what it contains of a slice."""

from __future__ import annotations

from dataclasses import dataclass

from floe.config.sections.tables import TableSettings
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.offsets import Intervals, OffsetRange
from floe.model.plan import Plan, Slice
from floe.tables.dead_letter_schema import DEAD_LETTERS_SCHEMA, check_suitable
from floe.tables.lake import Lake
from floe.tables.table_state import TableState


@dataclass(frozen=True)
class DeadLetterTable:
    """The dead-letter table as a slice finds it.

    ``new_offsets``: by range, those whose dead letters it does not contain yet. ``open_dead_letters``: dead letters of
    the other offsets, which are not resolved. Those are read a second time because a run died, because a table that was
    behind is caught up, or by a replay.
    """

    state: TableState
    new_offsets: tuple[tuple[OffsetRange, Intervals], ...]
    open_dead_letters: DeadLetterOffsets

    @classmethod
    def open(cls, lake: Lake, name: str, plan: Plan, slice_: Slice) -> DeadLetterTable:
        """Open the table, created if it is missing. Raises DeadLetterTableUnsuitable, and what the catalog raises."""
        topics = frozenset(r.topic for r in slice_.ranges)
        state = lake.state(name, topics, uuid=plan.tables)
        if state.table is None:
            lake.client.create(name, DEAD_LETTERS_SCHEMA, TableSettings())
            state = lake.state(name, topics, must_exist=True)
        check_suitable(name, state.required().schema())
        new = tuple((r, state.ledger.new_offsets(r, state.routes[r.topic])) for r in slice_.ranges)
        seen = [
            OffsetRange(r.topic, r.topic_id, r.partition, start, end)
            for r, offsets in new
            for start, end in Intervals.of([(r.start, r.end)]) - offsets
        ]
        return cls(state, new, lake.open_dead_letters(seen, state))
