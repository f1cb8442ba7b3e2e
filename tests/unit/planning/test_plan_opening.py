"""Opening a plan: its event and the offsets in one transaction, once, and not over what others changed."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from floe.control.wire.events import StartCommit
from floe.exceptions import Terminal
from floe.model.exceptions import Superseded
from floe.model.offsets import Intervals, OffsetRange, TopicPartition
from floe.model.plan import Plan, Slice, SliceKind
from floe.model.positions import LeaderEpoch, Position
from tests.support.kafka.fake_broker import Broker
from tests.support.runs.live_plans import position
from tests.support.tables.lake import TABLE, TOPIC, TOPIC_ID


def test_plan_opens_with_event_and_positions_in_one_transaction(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool]
) -> None:
    assert opened(plan)
    (moved,) = broker.moves
    assert moved.positions == [position(5)]
    assert moved.events == [StartCommit(plan.commit_id)]
    assert moved.headers == [{"floe-v": "1", "floe-slice": "plan-1/0", "floe-kind": "live"}]


def test_an_idle_plan_keeps_the_positions_alive_without_an_event(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool]
) -> None:
    assert not opened(replace(plan, slices=()))
    (moved,) = broker.moves
    assert (moved.positions, moved.events) == ([position(5)], [])


def test_decision_is_recorded_even_when_nothing_is_to_be_read(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool]
) -> None:
    assert not opened(replace(plan, slices=(), decisions={"forgive": [TABLE]}))
    (moved,) = broker.moves
    assert moved.events == [StartCommit(plan.commit_id)]
    assert json.loads(moved.headers[0]["floe-decisions"]) == {"forgive": [TABLE]}
    assert moved.headers[0]["floe-kind"] == "decision"


@pytest.mark.parametrize("found", [position(5), position(5, routing="older"), position(5, since=3)])
def test_position_that_plan_was_made_from_gets_plan_metadata(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool], found: Position
) -> None:
    broker.has(found)
    assert opened(replace(plan, replaced=(found,)))
    assert broker.moves[0].positions == [position(5)]


def test_position_of_an_older_leader_epoch_gets_that_of_the_plan(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool]
) -> None:
    planned = position(5, epoch=LeaderEpoch(4, 9))
    broker.has(position(5, epoch=LeaderEpoch(3, 5)))
    assert opened(replace(plan, positions=(planned,)))
    assert broker.moves[0].positions == [planned]


def test_opening_again_keeps_the_longer_plan_of_the_same_leader_epoch(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool]
) -> None:
    """A run with a higher limit was opened since, and may have committed to a table what it planned."""
    broker.has(position(5, epoch=LeaderEpoch(4, 20)))
    assert opened(replace(plan, positions=(position(5, epoch=LeaderEpoch(4, 9)),)))
    assert broker.moves[0].positions == [position(5, epoch=LeaderEpoch(4, 20))]


def test_plan_of_an_older_leader_epoch_than_the_position_is_superseded(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool]
) -> None:
    """Another plan was opened since: it may have accepted that the log was truncated, or have planned further."""
    broker.has(position(5, epoch=LeaderEpoch(5, 20)))
    with pytest.raises(Superseded, match="was changed since the plan was made"):
        opened(replace(plan, positions=(position(5, epoch=LeaderEpoch(4, 9)),)))
    assert broker.moves == []


def test_opening_again_after_all_was_committed_does_nothing(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool]
) -> None:
    broker.has(position(9))
    assert not opened(plan)
    assert broker.moves == []


def test_position_moved_by_a_run_of_the_plan_is_not_moved_back(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool]
) -> None:
    """One slice of two was committed, then the plan task is cleared."""
    second = Slice(1, SliceKind.LIVE, (OffsetRange(TOPIC, TOPIC_ID, 1, 0, 4),), (TABLE,))
    both = replace(plan, positions=(*plan.positions, position(0, 1)), slices=(*plan.slices, second))
    broker.has(position(9, lost=Intervals(((3, 5),))), position(0, 1))
    assert opened(both)
    assert broker.moves[0].positions == [position(9, lost=Intervals(((3, 5),))), position(0, 1)]


def test_a_plan_goes_back_where_a_decision_does(broker: Broker, plan: Plan, opened: Callable[[Plan], bool]) -> None:
    foreign = Position(TopicPartition(TOPIC, 0), 70, "by hand")
    broker.has(foreign)
    with pytest.raises(Superseded):
        opened(plan)
    assert opened(replace(plan, replaced=(foreign,)))
    assert broker.moves[0].positions == [position(5)]


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(position(4), id="moved back"),
        pytest.param(Position(TopicPartition(TOPIC, 0), 5, "by hand"), id="written by another tool"),
        pytest.param(Position(TopicPartition(TOPIC, 0), 50, ""), id="moved on by another tool"),
        pytest.param(position(5, backlog=2), id="a backlog that the plan does not know"),
        pytest.param(position(5, routing="other"), id="another routing"),
        pytest.param(position(5, since=3), id="a routing of another time"),
        pytest.param(position(5, topic_id="T2"), id="another topic"),
        pytest.param(position(50, topic_id="T2"), id="further on in another topic"),
    ],
)
def test_position_changed_by_others_supersedes_the_plan(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool], found: Position
) -> None:
    broker.has(found)
    with pytest.raises(Superseded, match=f"position of {TOPIC}-0 was changed since the plan was made") as caught:
        opened(plan)
    assert isinstance(caught.value, Terminal)
    assert broker.moves == []


def test_backlog_caught_up_in_part_is_not_enlarged_again(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool]
) -> None:
    behind = replace(plan, positions=(position(5, backlog=1),))
    for left in (position(5, backlog=3), position(5)):
        broker.has(left)
        assert opened(behind)
        assert broker.moves[-1].positions == [left]


def test_backlog_beginning_below_the_plan_supersedes_it(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool]
) -> None:
    broker.has(position(5, backlog=1))
    with pytest.raises(Superseded):
        opened(replace(plan, positions=(position(5, backlog=3),)))


def test_dropped_backlog_stays_dropped_when_plan_is_reopened(
    broker: Broker, draft: Callable[..., Plan], opened: Callable[[Plan], bool]
) -> None:
    broker.has(position(50, backlog=20))
    plan = draft(drop_backlog=frozenset({TABLE}))
    for _ in range(2):
        assert opened(plan)
        assert broker.found[TopicPartition(TOPIC, 0)] == position(50, since=50)


def test_a_plan_thawed_from_its_json_opens_the_same(
    broker: Broker, draft: Callable[..., Plan], opened: Callable[[Plan], bool]
) -> None:
    broker.has(position(5)).log(start=8)
    plan = draft(accept_loss=frozenset({"*"}))
    assert opened(Plan.from_json(json.loads(json.dumps(plan.to_json()))))
    assert broker.moves[0].positions == list(plan.positions)
