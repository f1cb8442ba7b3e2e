"""Where positions, or debts, stand against the slices of a plan."""

from dataclasses import replace
from typing import Any

import pytest

from floe.model.exceptions import Superseded
from floe.model.offsets import TopicPartition
from floe.model.plan import Plan, Slice, SliceKind
from floe.model.plan_progress import Progress, progress
from floe.model.positions import LeaderEpoch, PartitionBacklog, Position, PositionMetadata
from tests.support.tables.lake import CLUSTER, ROUTE, TABLE, TOPIC, TOPIC_ID
from tests.support.tables.slices import make_plan

PLAN = make_plan((0, 5, 9), (1, 0, 4))
LIVE = PLAN.slices[0]
CATCH_UP = replace(LIVE, kind=SliceKind.CATCH_UP)

Place = tuple[int, int | None] | None
"""A position, and where a table's debt of it begins."""


def at(*offsets: int | None, **facts: Any) -> dict[TopicPartition, Position]:
    return behind(*(None if offset is None else (offset, None) for offset in offsets), **facts)


def behind(*places: Place, table: str = TABLE, route: str = ROUTE, **facts: Any) -> dict[TopicPartition, Position]:
    fields = {"routing": "routing", "since": 0, "topic_id": TOPIC_ID, "cluster_id": CLUSTER, **facts}
    found = {}
    for p, place in enumerate(places):
        if place is None:
            continue
        offset, start = place
        backlogs = {} if start is None else {table: PartitionBacklog(start, route)}
        tp = TopicPartition(TOPIC, p)
        found[tp] = Position(tp, offset, PositionMetadata(**fields, backlogs=backlogs).encode())
    return found


def superseded(
    slice_: Slice,
    found: dict[TopicPartition, Position],
    why: str = rf"the position of {TOPIC}-[01] is \d+",
    plan: Plan = PLAN,
) -> None:
    with pytest.raises(Superseded, match=rf"plan-1 was superseded: {why}.*next run plans"):
        progress(plan, slice_, found)


def test_all_positions_at_their_starts_are_before() -> None:
    assert progress(PLAN, LIVE, at(5, 0)) is Progress.BEFORE


@pytest.mark.parametrize("offsets", [(9, 4), (10, 4), (100, 100)])
def test_all_positions_at_or_past_their_ends_are_done(offsets: tuple[int, int]) -> None:
    assert progress(PLAN, LIVE, at(*offsets)) is Progress.DONE


@pytest.mark.parametrize("offsets", [(5, 4), (9, 0), (7, 0), (4, 0), (9, 3), (None, 3), (7, None)])
def test_anything_else_is_superseded_with_the_odd_one_named(offsets: tuple[int | None, int | None]) -> None:
    superseded(LIVE, at(*offsets))


@pytest.mark.parametrize("offsets", [(5, None), (None, 0), (None, None)])
def test_positions_that_are_absent_do_not_supersede(offsets: tuple[int | None, int | None]) -> None:
    assert progress(PLAN, LIVE, at(*offsets)) is Progress.BEFORE


@pytest.mark.parametrize("offsets", [(9, None), (None, 4)])
def test_positions_past_the_end_beside_absent_ones_leave_it_open(offsets: tuple[int | None, int | None]) -> None:
    assert progress(PLAN, LIVE, at(*offsets)) is Progress.LEDGERS_DECIDE


def with_debts(*starts: int | None, route: str = ROUTE) -> Plan:
    """Give the plan that was made when the table owed from these offsets on."""
    places = [(p.offset, start) for p, start in zip(PLAN.positions, starts, strict=True)]
    return replace(PLAN, positions=tuple(behind(*places, route=route).values()))


def test_debts_that_the_plan_knows_do_not_hold_a_live_slice_up() -> None:
    backlog = with_debts(1, None)
    assert progress(backlog, LIVE, behind((5, 1), (0, None))) is Progress.BEFORE
    assert progress(backlog, LIVE, behind((5, 3), (0, None))) is Progress.BEFORE
    assert progress(backlog, LIVE, behind((5, None), (0, None))) is Progress.BEFORE
    assert progress(backlog, LIVE, behind((9, 1), (4, 2))) is Progress.DONE


def test_unknown_backlog_supersedes_live_slice_passing_over_it() -> None:
    superseded(LIVE, behind((5, 1), (0, None)), rf"the tables \['{TABLE}'\] are behind on {TOPIC}-0 now")


def test_backlog_of_table_outside_slice_does_not_hold_it_up() -> None:
    assert progress(PLAN, LIVE, behind((5, 1), (0, None), table="rpc.other")) is Progress.BEFORE


@pytest.mark.parametrize("facts", [{"routing": "other"}, {"since": 3}])
def test_changed_routing_supersedes_uncommitted_slices(facts: dict[str, Any]) -> None:
    superseded(LIVE, at(5, 0, **facts), f"the routing of {TOPIC}-0 was changed")
    assert progress(PLAN, LIVE, at(9, 4, **facts)) is Progress.DONE


@pytest.mark.parametrize("offsets", [(5, 0), (9, 4), (100, 100)])
@pytest.mark.parametrize("facts", [{"topic_id": "T2"}, {"cluster_id": "C2"}])
@pytest.mark.parametrize("slice_", [LIVE, CATCH_UP])
def test_positions_of_another_log_supersede_the_plan(
    slice_: Slice, facts: dict[str, Any], offsets: tuple[int, int]
) -> None:
    superseded(slice_, at(*offsets, **facts), f"the position of {TOPIC}-0 belongs to another log")


def test_positions_that_somebody_else_wrote_supersede_the_plan() -> None:
    foreign = {tp: replace(position, metadata="by hand") for tp, position in at(5, 0).items()}
    superseded(LIVE, foreign, f"the position of {TOPIC}-0 belongs to another log")


# -- catching up: the debt is the place -------------------------------------------------------------------------------


@pytest.mark.parametrize("places", [((50, 5), (50, 0)), ((9, 5), (4, 0)), ((6, 5), (1, 0))])
def test_debts_that_begin_where_a_catch_up_slice_does_are_before(places: tuple[Place, Place]) -> None:
    assert progress(with_debts(5, 0), CATCH_UP, behind(*places)) is Progress.BEFORE


def test_backlog_under_other_route_supersedes_its_catch_up() -> None:
    superseded(CATCH_UP, behind((50, 5), (50, 0)), "the backlog of table 'rpc.pizzas'", with_debts(5, 0, route="older"))


@pytest.mark.parametrize(
    "places",
    [((50, 9), (50, 4)), ((50, 20), (50, 4)), ((50, None), (50, None)), ((50, 9), (50, None)), ((7, None), (2, None))],
)
def test_backlogs_past_the_end_or_gone_are_done(places: tuple[Place, Place]) -> None:
    """A debt may be gone although the position is below the slice's end: the live slice beside it failed."""
    assert progress(PLAN, CATCH_UP, behind(*places)) is Progress.DONE


@pytest.mark.parametrize(
    "places",
    [
        ((50, 5), (50, 4)),
        ((50, 9), (50, 0)),
        ((50, 7), (50, 0)),
        ((50, 3), (50, 0)),
        ((50, 5), (50, None)),
        ((50, 7), None),
    ],
)
def test_any_other_debt_is_superseded(places: tuple[Place, Place]) -> None:
    superseded(CATCH_UP, behind(*places))


def test_debts_of_positions_that_are_absent_do_not_supersede() -> None:
    backlog = with_debts(5, 0)
    assert progress(backlog, CATCH_UP, behind((50, 5), None)) is Progress.BEFORE
    assert progress(backlog, CATCH_UP, {}) is Progress.BEFORE
    assert progress(backlog, CATCH_UP, behind(None, (50, 4))) is Progress.LEDGERS_DECIDE


def test_what_another_table_owes_is_not_this_slices_place() -> None:
    assert progress(PLAN, CATCH_UP, behind((50, 5), (50, 0), table="rpc.other")) is Progress.DONE


# -- replays ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["skip", "append"])
@pytest.mark.parametrize("offsets", [(5, 0), (9, 4), (7, None), (None, None)])
def test_a_replay_is_before_wherever_the_positions_are(kind: str, offsets: tuple[int | None, int | None]) -> None:
    assert progress(PLAN, replace(LIVE, kind=SliceKind(kind)), at(*offsets)) is Progress.BEFORE


def planned_in(number: int) -> Plan:
    """Give the plan that was made in a leader epoch."""
    return replace(PLAN, positions=tuple(at(5, 0, epoch=LeaderEpoch(number, 9)).values()))


@pytest.mark.parametrize("slice_", [LIVE, CATCH_UP])
@pytest.mark.parametrize("now", [3, 5])
def test_position_of_another_leader_epoch_supersedes_as_log_may_have_been_reset(slice_: Slice, now: int) -> None:
    """The log was truncated and reset by a later plan, which died: what this one has written are other records."""
    found = (
        behind((9, 5), (4, 0), epoch=LeaderEpoch(now, 9)) if slice_ is CATCH_UP else at(5, 0, epoch=LeaderEpoch(now, 9))
    )
    superseded(slice_, found, rf"{TOPIC}-0 was planned again in leader epoch {now}.*this plan is of 4", planned_in(4))


@pytest.mark.parametrize("epoch", [None, LeaderEpoch(4, 9), LeaderEpoch(4, 90)])
def test_position_of_the_planned_leader_epoch_or_of_none_is_before(epoch: LeaderEpoch | None) -> None:
    assert progress(planned_in(4), LIVE, at(5, 0, epoch=epoch)) is Progress.BEFORE
    assert progress(PLAN, LIVE, at(5, 0, epoch=epoch)) is Progress.BEFORE
