"""A group's positions compared with a slice: before it, past it, or at an offset that its plan cannot explain."""

from collections.abc import Mapping
from enum import Enum

from floe.model.exceptions import Superseded
from floe.model.offsets import OffsetRange, TopicPartition
from floe.model.plan import Plan, Slice, SliceKind
from floe.model.positions import Position, PositionMetadata, check_owner


class Progress(Enum):
    """Whether the positions are before or past a slice."""

    BEFORE = "at the start, as far as there are positions"
    DONE = "at or past the end"
    LEDGERS_DECIDE = "at or past the end, as far as there are positions: the ledgers decide about the others"


def progress(plan: Plan, slice_: Slice, found: Mapping[TopicPartition, Position]) -> Progress:
    """Compare positions, or backlogs, with the ranges of a slice. A replay is always before: the ledgers decide.

    An absent position is not an error: brokers delete it with its topic, and when it expires. If it were taken for
    another run's change, announced rows would be dropped and could not be read again. The tables' ledgers show what is
    already written. Raises Superseded when positions exist and are neither all at the start nor all past the end,
    PositionOwned when they belong to another connector.
    """
    if slice_.is_replay:
        return Progress.BEFORE
    check_owner((found[r.tp] for r in slice_.ranges if r.tp in found), plan.connector)
    starts = {p.tp: p for p in plan.positions}
    _check_same_logs(plan, slice_, starts, found)
    places = {r: _place(slice_, r, found[r.tp]) for r in slice_.ranges if r.tp in found}
    if all(place == r.start for r, place in places.items()):
        _check_same_terms(plan, slice_, starts, found)
        return Progress.BEFORE
    if all(place >= r.end for r, place in places.items()):
        return Progress.DONE if len(places) == len(slice_.ranges) else Progress.LEDGERS_DECIDE
    odd = next(
        (f"the position of {r.tp} is {place}, and the plan reads {r}")
        for r, place in places.items()
        if place != r.start
    )
    raise Superseded(_superseded(plan, odd))


def _superseded(plan: Plan, why: str) -> str:
    return (
        f"plan {plan.plan_id} was superseded: {why}. Another run committed offsets meanwhile, or the positions were "
        "changed by hand. Nothing of this plan was committed. The next run plans from the present positions."
    )


def _check_same_logs(
    plan: Plan, slice_: Slice, starts: Mapping[TopicPartition, Position], found: Mapping[TopicPartition, Position]
) -> None:
    """Raise when a position belongs to another incarnation of its topic: its offsets cannot be compared."""
    for r in slice_.ranges:
        position = found.get(r.tp)
        if position is None:
            continue
        now, then = PositionMetadata.decode(position.metadata), starts[r.tp].metadata_fields
        if now is None or (now.topic_id, now.cluster_id) != (then.topic_id, then.cluster_id):
            raise Superseded(
                _superseded(plan, f"the position of {r.tp} belongs to another log ({position.metadata[:200]!r})")
            )


def _check_same_terms(
    plan: Plan, slice_: Slice, starts: Mapping[TopicPartition, Position], found: Mapping[TopicPartition, Position]
) -> None:
    """Raise when a partition is at the plan's start, but with other routing, backlogs or records than the plan was made with.

    Another leader epoch is of another plan. That one may have accepted that the log was truncated: what this one has written
    would then be contained in place of the records that are there now.
    """
    for r in slice_.ranges:
        if r.tp not in found:
            continue
        now, then = found[r.tp].metadata_fields, starts[r.tp].metadata_fields
        if now.epoch is not None and then.epoch is not None and now.epoch.number != then.epoch.number:
            why = (
                f"{r.tp} was planned again in leader epoch {now.epoch.number}, and this plan is of {then.epoch.number}"
            )
            raise Superseded(_superseded(plan, why))
        if slice_.kind is SliceKind.CATCH_UP:
            if now.backlogs[slice_.table].route != then.backlogs[slice_.table].route:
                raise Superseded(
                    _superseded(plan, f"the backlog of table {slice_.table!r} on {r.tp} has another route now")
                )
            continue
        if (now.routing, now.since) != (then.routing, then.since):
            raise Superseded(_superseded(plan, f"the routing of {r.tp} was changed since it was made"))
        new = sorted(set(slice_.tables) & now.backlogs.keys() - then.backlogs.keys())
        if new:
            raise Superseded(
                _superseded(
                    plan, (f"the tables {new} are behind on {r.tp} now, and the plan would give them newer rows")
                )
            )


def _place(slice_: Slice, r: OffsetRange, position: Position) -> int:
    """Return how far a slice's tables have been read: the position, or the start of a catch-up slice's backlog."""
    if slice_.kind is SliceKind.LIVE:
        return position.offset
    backlog = position.backlogs.get(slice_.table)
    return backlog.start if backlog is not None else max(position.offset, r.end)
