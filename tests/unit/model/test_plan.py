"""Plans: their JSON, their ids, who takes what, and the positions after them."""

import itertools
import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from floe.model.offsets import OffsetRange, TopicPartition
from floe.model.plan import Plan, Slice, SliceEnd, SliceKind, positions_after
from floe.model.positions import PartitionBacklog, Position, PositionMetadata
from tests.support.partitions import ROUTE, is_behind, position, span


@pytest.fixture
def plan() -> Callable[..., Plan]:
    """Make a plan over two topics: a live slice, and one of what a table lacks."""

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
                Slice(0, SliceKind.LIVE, (OffsetRange("a", "id-a", 0, 5, 8),), ("t.x", "t.y")),
                Slice(1, SliceKind.CATCH_UP, (OffsetRange("b", "id-b", 0, 0, 4),), ("t.y",)),
            ),
            replaced=(Position(TopicPartition("b", 0), 3, "written by hand"),),
            decisions={"recover": True, "notes": ["b-0: recovered at 0"]},
            anchors={"t.x": 2**62 + 1},
        )

    return make


def test_a_plan_survives_json(plan: Callable[..., Plan]) -> None:
    assert Plan.from_json(json.loads(json.dumps(plan().to_json()))) == plan()


def test_plan_has_the_code_of_transforms_where_there_is_any(plan: Callable[..., Plan]) -> None:
    assert "code" not in plan().to_json(), "a plan of an older version reads as one without"
    coded = replace(plan(), code={"own.Own": (3, "ab12")})
    stored = json.loads(json.dumps(coded.to_json()))
    assert stored["code"] == {"own.Own": [3, "ab12"]}
    assert Plan.from_json(stored) == coded


@pytest.mark.parametrize("found", [None, 0, 1, 3])
def test_a_plan_of_another_format_is_refused_with_a_next_step(plan: Callable[..., Plan], found: object) -> None:
    with pytest.raises(ValueError, match="trigger a new run"):
        Plan.from_json({**plan().to_json(), "floe": found})


def test_commit_id_is_stable_on_retry_and_unique_per_group_plan(
    plan: Callable[..., Plan],
) -> None:
    assert plan().commit_id == Plan.from_json(plan().to_json()).commit_id
    assert plan().commit_id.version == uuid.UUID(int=0, version=5).version
    assert len({plan().commit_id, plan("p2").commit_id, plan("p1", "connect-b").commit_id}) == 3


def test_live_range_carries_since_and_its_start_position(plan: Callable[..., Plan]) -> None:
    one = plan()
    live = one.live_ranges(one.slices[0].ranges)
    positions = {p.tp: p for p in one.positions}
    assert [x.range for x in live] == list(one.slices[0].ranges)
    assert [x.position for x in live] == [(positions[x.range.tp].offset, positions[x.range.tp].metadata) for x in live]


def test_a_slice_counts_its_offsets_and_is_named_after_its_plan(plan: Callable[..., Plan]) -> None:
    assert [s.records for s in plan().slices] == [3, 4]
    assert [plan().slice_id(s) for s in plan().slices] == ["p1/0", "p1/1"]


def test_a_slice_is_found_by_its_name(plan: Callable[..., Plan]) -> None:
    one = plan()
    assert [one.slice_of(one.slice_id(slice_)) for slice_ in one.slices] == list(one.slices)
    assert one.slices[1].table == "t.y"


@pytest.mark.parametrize("kind", list(SliceKind))
def test_only_replays_are_replays(plan: Callable[..., Plan], kind: SliceKind) -> None:
    one = replace(plan(), slices=(Slice(0, kind, (), ("t.x",)),))
    assert one.is_replay == one.slices[0].is_replay == (kind in ("skip", "append", "replace", "redrive"))


# -- who takes what ---------------------------------------------------------------------------------------------------


def test_live_slice_leaves_partition_to_tables_up_to_date(plan: Callable[..., Plan]) -> None:
    slice_ = Slice(0, SliceKind.LIVE, (span(50, 60), span(9, 20, 1)), ("a", "b"))
    one = replace(plan(), positions=(position(50, backlogs=is_behind(a=40)), position(9, 1)), slices=(slice_,))
    assert one.taken(slice_, "a") == (span(9, 20, 1),)
    assert one.taken(slice_, "b") == slice_.ranges


@pytest.mark.parametrize("kind", ["catch-up", "skip", "append"])
def test_any_other_slice_is_taken_whole_by_its_tables(plan: Callable[..., Plan], kind: str) -> None:
    slice_ = Slice(0, SliceKind(kind), (span(40, 60),), ("a",))
    one = replace(plan(), positions=(position(50, backlogs=is_behind(a=40)),), slices=(slice_,))
    assert one.taken(slice_, "a") == slice_.ranges


# -- positions after the slices ---------------------------------------------------------------------------------------


def live(*ranges: OffsetRange, behind: Sequence[str] = (), has_snapshot: bool = True) -> SliceEnd:
    slice_ = Slice(0, SliceKind.LIVE, ranges, ("a", "b"))
    return SliceEnd(slice_, {table: {r.topic: ROUTE for r in ranges} for table in behind}, has_snapshot)


def caught_up(table: str, *ranges: OffsetRange) -> SliceEnd:
    return SliceEnd(Slice(1, SliceKind.CATCH_UP, ranges, (table,)), {}, True)


@pytest.fixture
def all_after(plan: Callable[..., Plan]) -> Callable[..., tuple[Position, ...]]:
    """Move positions by the ends of slices; ``planned``: as the plan sent them, if not as they are found."""

    def move(found: Sequence[Position], *ends: SliceEnd, planned: Any = None, drop_backlog: Sequence[str] = ()) -> Any:
        decisions = {"forgive": list(drop_backlog)} if drop_backlog else {}
        one = replace(plan(), positions=tuple(planned or found), decisions=decisions)
        return positions_after(one, found, ends)

    return move


@pytest.fixture
def after(all_after: Callable[..., tuple[Position, ...]]) -> Callable[..., Position]:
    """Move one position."""

    def move(found: Position, *ends: SliceEnd, planned: Position | None = None, **more: Any) -> Position:
        (moved,) = all_after([found], *ends, planned=[planned or found], **more)
        return moved

    return move


def test_positions_move_to_ends_of_finished_slices_only(
    all_after: Callable[..., tuple[Position, ...]],
) -> None:
    before = (position(5), position(9, 1), position(0, 2))
    moved = all_after(before, live(span(5, 8), span(0, 4, 2)))
    assert moved == (position(8), position(9, 1), position(4, 2))
    assert all_after(before) == before


def test_table_refusing_a_range_has_backlog_from_its_start(after: Callable[..., Position]) -> None:
    assert after(position(50), live(span(50, 60), behind=["a"])) == position(60, backlogs=is_behind(a=50))
    assert after(position(50, backlogs=is_behind(b=7)), live(span(50, 60), behind=["a"])) == position(
        60, backlogs=is_behind(a=50, b=7)
    )


def test_a_debt_is_that_of_each_topic_under_its_own_route(all_after: Callable[..., tuple[Position, ...]]) -> None:
    ranges = (span(50, 60), span(1, 2, topic="drinks"))
    end = SliceEnd(
        Slice(0, SliceKind.LIVE, ranges, ("a", "b")),
        {"a": {"pizzas": "r1", "drinks": "r2"}},
        True,
    )
    pizzas, drinks = all_after([position(50), position(1, topic="drinks")], end)
    assert (pizzas.backlogs, drinks.backlogs) == ({"a": PartitionBacklog(50, "r1")}, {"a": PartitionBacklog(1, "r2")})


def test_a_table_that_owes_already_owes_from_where_it_did(after: Callable[..., Position]) -> None:
    assert after(position(50, backlogs=is_behind(a=7)), live(span(50, 60), behind=["a"])) == position(
        60, backlogs=is_behind(a=7)
    )
    assert after(position(50, backlogs=is_behind(a=7)), live(span(50, 60))) == position(60, backlogs=is_behind(a=7))


def test_backlog_shrinks_by_catch_up_and_ends_with_it(after: Callable[..., Position]) -> None:
    before = position(50, backlogs=is_behind(a=7, b=20))
    assert after(before, caught_up("a", span(7, 30))) == position(50, backlogs=is_behind(a=30, b=20))
    assert after(before, caught_up("a", span(7, 50))) == position(50, backlogs=is_behind(b=20))


def test_several_slices_of_one_partition_move_it_together(after: Callable[..., Position]) -> None:
    ends = [live(span(50, 60)), caught_up("a", span(7, 60)), caught_up("b", span(20, 40))]
    for order in itertools.permutations(ends):
        assert after(position(50, backlogs=is_behind(a=7, b=20)), *order) == position(60, backlogs=is_behind(b=40))


def test_backlog_caught_up_beside_failed_live_slice_ends_there(
    after: Callable[..., Position],
) -> None:
    """What lies above, the table's ledger knows: the next live slice leaves it out."""
    before = position(50, backlogs=is_behind(a=7))
    assert after(before, caught_up("a", span(7, 60))) == position(50)
    assert after(before, caught_up("a", span(7, 40))) == position(50, backlogs=is_behind(a=40))


def test_failed_catch_up_beside_live_slice_keeps_backlog(after: Callable[..., Position]) -> None:
    assert after(position(50, backlogs=is_behind(a=7)), live(span(50, 60))) == position(60, backlogs=is_behind(a=7))


def test_a_debt_never_grows_by_a_slice_that_caught_up_less(after: Callable[..., Position]) -> None:
    assert after(position(50, backlogs=is_behind(a=30)), caught_up("a", span(7, 20))) == position(
        50, backlogs=is_behind(a=30)
    )


def test_backlog_dropped_meanwhile_is_what_live_slice_lacked(
    after: Callable[..., Position],
) -> None:
    """The plan left its rows to the catch-up that will not run: stepping over them would lose them."""
    planned = position(50, backlogs=is_behind(a=7))
    assert after(position(50), live(span(50, 60)), planned=planned) == position(60, backlogs=is_behind(a=50))
    assert after(position(50, backlogs=is_behind(a=20)), live(span(50, 60)), planned=planned) == position(
        60, backlogs=is_behind(a=20)
    )


def test_dropped_backlog_is_not_made_again_and_since_moves(
    after: Callable[..., Position],
) -> None:
    end = live(span(50, 60), behind=["a", "b"])
    assert after(position(50), end, drop_backlog=["a"]) == position(60, since=60, backlogs=is_behind(b=50))
    assert after(position(50), live(span(50, 60), behind=["b"]), drop_backlog=["a"]) == position(
        60, backlogs=is_behind(b=50)
    )


def test_loss_stays_in_position_until_a_snapshot_records_it(after: Callable[..., Position]) -> None:
    before = position(50, lost=(40, 50))
    assert after(before, live(span(50, 60), has_snapshot=False)) == position(60, lost=(40, 50))
    assert after(before, live(span(50, 60))) == position(60)
    behind = position(50, lost=(40, 50), backlogs=is_behind(a=7))
    assert after(behind, caught_up("a", span(7, 50))) == position(50, lost=(40, 50))
