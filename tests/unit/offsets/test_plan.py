"""Plans: their JSON, their ids, and the positions after them."""

import json
import uuid
from collections.abc import Callable

import pytest

from floe.offsets.plan import Plan, Slice, SliceKind
from floe.offsets.position import Position, PositionMetadata
from floe.offsets.ranges import OffsetRange, TopicPartition


@pytest.fixture
def plan() -> Callable[..., Plan]:
    """Make a plan over two topics in two slices."""

    def make(plan_id: str = "p1", group_id: str = "connect-pizzas") -> Plan:
        def position(topic: str, partition: int, offset: int, since: int) -> Position:
            metadata = PositionMetadata("route", since, f"id-{topic}", "cluster")
            return Position(TopicPartition(topic, partition), offset, metadata.encode())

        return Plan(
            plan_id=plan_id,
            connector="pizzas",
            group_id=group_id,
            cluster_id="cluster",
            config={"name": "pizzas", "topics": "a,b"},
            control_topic="control-iceberg",
            control_ends={0: 7, 10: 2},
            positions=(position("a", 0, 5, 1), position("a", 1, 9, 9), position("b", 0, 0, 0)),
            slices=(
                Slice(0, SliceKind.LIVE, (OffsetRange("a", "id-a", 0, 5, 8),)),
                Slice(1, SliceKind.LIVE, (OffsetRange("b", "id-b", 0, 0, 4),)),
            ),
        )

    return make


def test_a_plan_survives_json(plan: Callable[..., Plan]) -> None:
    assert Plan.from_json(json.loads(json.dumps(plan().to_json()))) == plan()


@pytest.mark.parametrize("found", [None, 0, 2])
def test_a_plan_of_another_format_is_refused_with_a_next_step(plan: Callable[..., Plan], found: object) -> None:
    with pytest.raises(ValueError, match="trigger a new run"):
        Plan.from_json({**plan().to_json(), "floe": found})


def test_the_commit_id_is_the_same_on_every_retry_and_another_for_every_group_and_plan(
    plan: Callable[..., Plan],
) -> None:
    assert plan().commit_id == Plan.from_json(plan().to_json()).commit_id
    assert plan().commit_id.version == uuid.UUID(int=0, version=5).version
    assert len({plan().commit_id, plan("p2").commit_id, plan("p1", "connect-b").commit_id}) == 3


def test_positions_move_to_the_ends_of_finished_slices_only_and_keep_their_metadata(plan: Callable[..., Plan]) -> None:
    before = plan().positions
    after = plan().positions_after(plan().slices[:1])
    assert [p.offset for p in after] == [8, 9, 0]
    assert [p.metadata for p in after] == [p.metadata for p in before]
    assert plan().positions_after(()) == before


def test_a_live_range_carries_since_and_the_position_it_started_from(plan: Callable[..., Plan]) -> None:
    one = plan()
    live = one.live_ranges(one.slices[0].ranges)
    positions = {p.tp: p for p in one.positions}
    assert [x.range for x in live] == list(one.slices[0].ranges)
    assert [x.position for x in live] == [(positions[x.range.tp].offset, positions[x.range.tp].metadata) for x in live]


def test_a_slice_counts_its_offsets_and_is_named_after_its_plan(plan: Callable[..., Plan]) -> None:
    assert [s.records for s in plan().slices] == [3, 4]
    assert [plan().slice_id(s) for s in plan().slices] == ["p1/0", "p1/1"]
