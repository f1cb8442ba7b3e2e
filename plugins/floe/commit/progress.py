"""Where a group's positions stand against a plan: before it, past it, or somewhere a plan cannot explain."""

from collections.abc import Mapping, Sequence
from enum import Enum

from floe.commit.exceptions import Superseded
from floe.offsets.plan import Plan, Slice
from floe.offsets.position import Position
from floe.offsets.ranges import TopicPartition


class Progress(Enum):
    """Where the positions stand."""

    BEFORE = "at the start"
    DONE = "at or past the end"


def progress(
    plan: Plan, slices: Sequence[Slice], found: Mapping[TopicPartition, Position], *, new: bool = False
) -> Progress:
    """Compare positions with the ranges of slices.

    ``new``: partitions may have no position yet, as when their first plan is opened. Raises Superseded when the
    positions are neither all at the start nor all past the end.
    """
    offsets = {r: (found[r.tp].offset if r.tp in found else None) for s in slices for r in s.ranges}
    if all(offset == r.start or (new and offset is None) for r, offset in offsets.items()):
        return Progress.BEFORE
    if all(offset is not None and offset >= r.end for r, offset in offsets.items()):
        return Progress.DONE
    odd = next(f"{r} is at {offset}" for r, offset in offsets.items() if offset != r.start)
    msg = (
        f"plan {plan.plan_id} was superseded: {odd}. Another run read on, or the positions were changed by hand; "
        "nothing of this plan is committed. The next run plans from the present positions."
    )
    raise Superseded(msg)


def refuse_rewound(plan: Plan, found: Mapping[TopicPartition, Position]) -> None:
    """Raise Superseded when a position is behind the plan's, also of a partition that the plan does not read.

    Whoever rewound it wants its records read again; writing the plan's position over it would undo that.
    """
    back = next((p for p in plan.positions if p.tp in found and found[p.tp].offset < p.offset), None)
    if back is not None:
        msg = (
            f"the position of {back.tp} went back from {back.offset} to {found[back.tp].offset} since the plan was made: "
            "somebody else moved it. No position is moved; the next run plans from the present ones."
        )
        raise Superseded(msg)
