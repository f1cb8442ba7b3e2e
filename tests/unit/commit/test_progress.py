"""Where positions, or debts, stand against the slices of a plan."""

from dataclasses import replace

import pytest

from floe.commit.exceptions import Superseded
from floe.commit.progress import Progress, progress
from floe.offsets.plan import Slice, SliceKind
from floe.offsets.position import Debt, Position, PositionMetadata
from floe.offsets.ranges import TopicPartition
from tests.unit.commit.lake import CLUSTER, ROUTE, TABLE, TOPIC, TOPIC_ID, make_plan

PLAN = make_plan((0, 5, 9), (1, 0, 4))
LIVE = PLAN.slices[0]
CATCH_UP = replace(LIVE, kind=SliceKind.CATCH_UP)

Place = tuple[int, int | None] | None
"""A position, and where a table's debt of it begins."""


def at(*offsets: int | None) -> dict[TopicPartition, Position]:
    tps = [TopicPartition(TOPIC, p) for p in range(len(offsets))]
    return {tp: Position(tp, o, "") for tp, o in zip(tps, offsets, strict=True) if o is not None}


def owing(*places: Place, table: str = TABLE) -> dict[TopicPartition, Position]:
    found = {}
    for p, place in enumerate(places):
        if place is None:
            continue
        offset, start = place
        debts = {} if start is None else {table: Debt(start, ROUTE)}
        tp = TopicPartition(TOPIC, p)
        found[tp] = Position(tp, offset, PositionMetadata("routing", 0, TOPIC_ID, CLUSTER, debts=debts).encode())
    return found


def superseded(piece: Slice, found: dict[TopicPartition, Position]) -> None:
    with pytest.raises(Superseded, match=rf"plan-1 was superseded: {TOPIC}-[01]\[.*next run plans"):
        progress(PLAN, piece, found)


def test_all_positions_at_their_starts_are_before() -> None:
    assert progress(PLAN, LIVE, at(5, 0)) is Progress.BEFORE


@pytest.mark.parametrize("offsets", [(9, 4), (10, 4), (100, 100)])
def test_all_positions_at_or_past_their_ends_are_done(offsets: tuple[int, int]) -> None:
    assert progress(PLAN, LIVE, at(*offsets)) is Progress.DONE


@pytest.mark.parametrize(
    "offsets", [(5, 4), (9, 0), (7, 0), (4, 0), (9, 3), (None, 4), (5, None), (9, None), (None, None)]
)
def test_anything_else_is_superseded_with_the_odd_one_named(offsets: tuple[int | None, int | None]) -> None:
    superseded(LIVE, at(*offsets))


def test_debts_do_not_hold_a_live_slice_up() -> None:
    assert progress(PLAN, LIVE, owing((5, 1), (0, None))) is Progress.BEFORE
    assert progress(PLAN, LIVE, owing((9, 1), (4, 2))) is Progress.DONE


# -- catching up: the debt is the place -------------------------------------------------------------------------------


@pytest.mark.parametrize("places", [((50, 5), (50, 0)), ((9, 5), (4, 0)), ((6, 5), (1, 0))])
def test_debts_that_begin_where_a_catch_up_slice_does_are_before(places: tuple[Place, Place]) -> None:
    assert progress(PLAN, CATCH_UP, owing(*places)) is Progress.BEFORE


@pytest.mark.parametrize(
    "places",
    [((50, 9), (50, 4)), ((50, 20), (50, 4)), ((50, None), (50, None)), ((50, 9), (50, None)), ((7, None), (2, None))],
)
def test_debts_that_begin_at_or_past_its_end_or_are_gone_are_done(places: tuple[Place, Place]) -> None:
    """A debt may be gone although the position is below the slice's end: the live slice beside it failed."""
    assert progress(PLAN, CATCH_UP, owing(*places)) is Progress.DONE


@pytest.mark.parametrize(
    "places",
    [
        ((50, 5), (50, 4)),
        ((50, 9), (50, 0)),
        ((50, 7), (50, 0)),
        ((50, 3), (50, 0)),
        ((50, 5), (50, None)),
        ((50, 5), None),
        (None, (50, 4)),
        (None, None),
    ],
)
def test_any_other_debt_is_superseded(places: tuple[Place, Place]) -> None:
    superseded(CATCH_UP, owing(*places))


def test_what_another_table_owes_is_not_this_slices_place() -> None:
    assert progress(PLAN, CATCH_UP, owing((50, 5), (50, 0), table="rpc.other")) is Progress.DONE


# -- replays ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SliceKind.SKIP, SliceKind.APPEND])
@pytest.mark.parametrize("offsets", [(5, 0), (9, 4), (7, None), (None, None)])
def test_a_replay_is_before_wherever_the_positions_are(kind: SliceKind, offsets: tuple[int | None, int | None]) -> None:
    assert progress(PLAN, replace(LIVE, kind=kind), at(*offsets)) is Progress.BEFORE
