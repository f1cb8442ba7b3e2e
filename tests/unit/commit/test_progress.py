"""Where positions stand against a plan, and positions that never go back."""

import pytest

from floe.commit.exceptions import Superseded
from floe.commit.positions import never_back
from floe.commit.progress import Progress, progress
from floe.offsets.position import Position
from floe.offsets.ranges import TopicPartition
from tests.unit.commit.lake import TOPIC, make_plan

PLAN = make_plan((0, 5, 9), (1, 0, 4))


def at(*offsets: int | None) -> dict[TopicPartition, Position]:
    tps = [TopicPartition(TOPIC, p) for p in range(len(offsets))]
    return {tp: Position(tp, o, "") for tp, o in zip(tps, offsets, strict=True) if o is not None}


def test_all_positions_at_their_starts_are_before() -> None:
    assert progress(PLAN, PLAN.slices, at(5, 0)) is Progress.BEFORE


@pytest.mark.parametrize("offsets", [(9, 4), (10, 4), (100, 100)])
def test_all_positions_at_or_past_their_ends_are_done(offsets: tuple[int, int]) -> None:
    assert progress(PLAN, PLAN.slices, at(*offsets)) is Progress.DONE


@pytest.mark.parametrize("offsets", [(5, 4), (9, 0), (7, 0), (4, 0), (9, 3), (None, 4), (5, None), (None, None)])
def test_anything_else_is_superseded_with_the_odd_one_named(offsets: tuple[int | None, int | None]) -> None:
    with pytest.raises(Superseded, match=rf"plan-1 was superseded: {TOPIC}-[01]\[.*next run plans"):
        progress(PLAN, PLAN.slices, at(*offsets))


def test_partitions_without_a_position_are_before_only_when_their_first_plan_is_opened() -> None:
    assert progress(PLAN, PLAN.slices, at(None, None), new=True) is Progress.BEFORE
    assert progress(PLAN, PLAN.slices, at(5, None), new=True) is Progress.BEFORE
    with pytest.raises(Superseded):
        progress(PLAN, PLAN.slices, at(9, None), new=True)


def test_positions_behind_what_the_group_has_are_left_out() -> None:
    wanted = list(at(5, 7, 3).values())
    assert never_back(wanted, at(5, 8)) == [wanted[0], wanted[2]]
