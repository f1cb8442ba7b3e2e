"""Where a group's positions stand against a slice: before it, past it, or somewhere its plan cannot explain."""

from collections.abc import Mapping
from enum import Enum

from floe.commit.exceptions import Superseded
from floe.offsets.plan import Plan, Slice, SliceKind
from floe.offsets.position import Position
from floe.offsets.ranges import OffsetRange, TopicPartition


class Progress(Enum):
    """Where the positions stand."""

    BEFORE = "at the start"
    DONE = "at or past the end"


def progress(plan: Plan, piece: Slice, found: Mapping[TopicPartition, Position]) -> Progress:
    """Compare positions, or debts, with the ranges of a slice. A replay is always before: its tables tell.

    Raises Superseded when they are neither all at the start nor all past the end.
    """
    if piece.kind.is_replay:
        return Progress.BEFORE
    places = {r: _place(piece, r, found.get(r.tp)) for r in piece.ranges}
    if all(place == r.start for r, place in places.items()):
        return Progress.BEFORE
    if all(place is not None and place >= r.end for r, place in places.items()):
        return Progress.DONE
    odd = next(f"{r} is at {place}" for r, place in places.items() if place != r.start)
    msg = (
        f"plan {plan.plan_id} was superseded: {odd}. Another run read on, or the positions were changed by hand; "
        "nothing of this plan is committed. The next run plans from the present positions."
    )
    raise Superseded(msg)


def _place(piece: Slice, r: OffsetRange, position: Position | None) -> int | None:
    """Return how far a slice's tables have come: the position, or where the debt of a catch-up slice begins."""
    if position is None or piece.kind is SliceKind.LIVE:
        return position.offset if position is not None else None
    debt = position.debts.get(piece.table)
    return debt.start if debt is not None else max(position.offset, r.end)
