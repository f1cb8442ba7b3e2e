"""The planner: what it refuses, where partitions begin, and fair shares."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floe.exceptions import Terminal
from floe.offsets.exceptions import PlanRefused
from floe.offsets.planner import Beginnings, PartitionLog, allocate, fair_shares, settle_positions
from floe.offsets.position import Position, PositionMetadata
from floe.offsets.ranges import OffsetRange, TopicPartition

Make = Callable[..., Any]


def log(
    partition: int = 0, start: int = 0, end: int = 100, topic: str = "pizzas", topic_id: str = "T1"
) -> PartitionLog:
    return PartitionLog(TopicPartition(topic, partition), topic_id, start, end)


def position(offset: int, partition: int = 0, topic: str = "pizzas", **over: Any) -> Position:
    fields = {"routing": "R", "since": 3, "topic_id": "T1", "cluster_id": "C1", **over}
    return Position(TopicPartition(topic, partition), offset, PositionMetadata(**fields).encode())


def found(*positions: Position) -> dict[TopicPartition, Position]:
    return {p.tp: p for p in positions}


@pytest.fixture
def beginnings() -> Make:
    """Say where partitions without a position begin."""

    def make(held_ids: Callable[[str], frozenset[str] | None] = lambda _: None, **over: Any) -> Beginnings:
        fields: dict[str, Any] = {"cluster_id": "C1", "offset_reset": "earliest", "routing": {"pizzas": "R", "b": "R"}}
        return Beginnings(**{**fields, "held_ids": held_ids, **over})

    return make


def test_a_position_inside_the_log_is_carried_on_as_it_is(beginnings: Make) -> None:
    for offset in (0, 50, 100):
        assert settle_positions([log()], found(position(offset)), beginnings()) == (position(offset),)


@pytest.mark.parametrize("metadata", ["", "offset written by hand", '{"floe":2}'])
def test_a_position_that_somebody_else_wrote_is_refused(beginnings: Make, metadata: str) -> None:
    foreign = Position(TopicPartition("pizzas", 4), 17, metadata)
    with pytest.raises(
        PlanRefused, match=r"position 17 of pizzas-4 was not written by floe.*put the position back"
    ) as caught:
        settle_positions([log(4)], found(foreign), beginnings())
    assert isinstance(caught.value, Terminal)


def test_offsets_that_retention_removed_are_refused_by_number(beginnings: Make) -> None:
    with pytest.raises(PlanRefused, match=r"pizzas-1 lost the offsets \[5, 8\).*Restore them"):
        settle_positions([log(1, start=8)], found(position(5, 1)), beginnings())


def test_a_position_at_the_log_start_has_lost_nothing(beginnings: Make) -> None:
    assert settle_positions([log(start=8)], found(position(8)), beginnings())[0].offset == 8


def test_a_position_past_the_log_is_refused(beginnings: Make) -> None:
    with pytest.raises(PlanRefused, match=r"position 101 of pizzas-2 is past its last stable offset 100.*mended"):
        settle_positions([log(2)], found(position(101, 2)), beginnings())


def test_another_incarnation_of_the_topic_is_refused(beginnings: Make) -> None:
    with pytest.raises(PlanRefused, match=r"topic 'pizzas' was re-created.*'T2'.*'T1'.*new name"):
        settle_positions([log(topic_id="T2")], found(position(5)), beginnings())


def test_another_cluster_is_refused(beginnings: Make) -> None:
    with pytest.raises(PlanRefused, match=r"position of pizzas-0 belongs to cluster 'C1'.*'C2'.*Kafka connection"):
        settle_positions([log()], found(position(5)), beginnings(cluster_id="C2"))


def test_a_partition_that_vanished_is_refused(beginnings: Make) -> None:
    with pytest.raises(PlanRefused, match=r"partition pizzas-1 has a position \(9\).*new name"):
        settle_positions([log(0)], found(position(5), position(9, 1)), beginnings())


def test_positions_of_topics_that_are_not_the_connectors_are_passed_over(beginnings: Make) -> None:
    others = found(position(5), position(9, 0, topic="elsewhere"))
    assert [p.tp.topic for p in settle_positions([log()], others, beginnings())] == ["pizzas"]


def test_a_partition_that_was_added_begins_at_its_log_start_whatever_the_reset_says(beginnings: Make) -> None:
    logs = [log(0), log(1, start=2)]
    settled = settle_positions(logs, found(position(5)), beginnings(lambda _: True, offset_reset="latest"))
    assert settled[1] == position(2, 1, since=2)


@pytest.mark.parametrize(("reset", "offset"), [("earliest", 7), ("latest", 100)])
def test_a_new_connector_begins_where_its_reset_says_and_remembers_since_when(
    beginnings: Make, reset: str, offset: int
) -> None:
    settled = settle_positions([log(start=7)], {}, beginnings(offset_reset=reset))
    assert settled == (position(offset, since=offset),)


def test_lost_positions_are_not_taken_for_a_new_connector(beginnings: Make) -> None:
    ids = frozenset({"T1"})
    with pytest.raises(PlanRefused, match=r"topic 'pizzas' has a position, but a table.*positions were lost.*put back"):
        settle_positions([log()], {}, beginnings(lambda topic: ids if topic == "pizzas" else None))


def test_positions_that_went_with_their_whole_group_are_not_taken_for_a_new_connector(beginnings: Make) -> None:
    with pytest.raises(PlanRefused, match="positions were lost"):
        settle_positions([log()], {}, beginnings(lambda _: frozenset()))


def test_a_topic_that_was_deleted_with_its_positions_and_created_again_is_named_as_such(beginnings: Make) -> None:
    with pytest.raises(PlanRefused, match=r"'pizzas' was re-created: its id is 'T1', what was read belongs to 'T0'"):
        settle_positions([log()], {}, beginnings(lambda _: frozenset({"T0"})))


def test_tables_are_asked_only_for_topics_without_any_position_and_once_each(beginnings: Make) -> None:
    asked: list[str] = []

    def held_ids(topic: str) -> None:
        asked.append(topic)

    logs = [log(0), log(1), *(log(p, topic="b") for p in range(5))]
    settle_positions(logs, found(position(5)), beginnings(held_ids))
    assert asked == ["b"]


def test_a_changed_routing_counts_from_the_position_on(beginnings: Make) -> None:
    settled = settle_positions([log()], found(position(40)), beginnings(routing={"pizzas": "R2"}))
    assert settled == (position(40, routing="R2", since=40),)


def test_ranges_begin_at_the_position_end_at_the_stable_end_and_idle_partitions_have_none() -> None:
    positions = [position(5), position(100, 1), position(99, 2)]
    ranges = allocate(positions, [log(0), log(1), log(2)], None)
    assert ranges == (OffsetRange("pizzas", "T1", 0, 5, 100), OffsetRange("pizzas", "T1", 2, 99, 100))


def test_a_limit_cuts_ranges_at_their_end_and_a_hot_partition_starves_nobody() -> None:
    positions = [position(0), position(0, 1)]
    ranges = allocate(positions, [log(0, end=1_000_000), log(1, end=10)], 110)
    assert [len(r) for r in ranges] == [100, 10]
    assert allocate(positions, [log(0), log(1)], 0) == ()


LAGS = st.dictionaries(st.integers(0, 9).map(lambda p: TopicPartition("t", p)), st.integers(0, 60), max_size=8)


@given(LAGS, st.none() | st.integers(0, 200))
def test_shares_use_the_whole_limit_and_nobody_gets_more_than_its_lag(
    lags: dict[TopicPartition, int], limit: int | None
) -> None:
    shares = fair_shares(lags, limit)
    assert shares.keys() == lags.keys()
    assert all(0 <= shares[tp] <= lag for tp, lag in lags.items())
    assert sum(shares.values()) == min(sum(lags.values()), sum(lags.values()) if limit is None else limit)


@given(LAGS, st.integers(0, 200))
def test_who_gets_less_than_its_lag_gets_as_much_as_anybody_within_one_offset(
    lags: dict[TopicPartition, int], limit: int
) -> None:
    shares = fair_shares(lags, limit)
    cut = [share for tp, share in shares.items() if share < lags[tp]]
    assert all(share <= min(cut) + 1 for share in shares.values()) if cut else True


@given(LAGS, st.integers(0, 200))
def test_a_larger_limit_takes_from_nobody_more_than_a_whole_offset(lags: dict[TopicPartition, int], limit: int) -> None:
    less, more = fair_shares(lags, limit), fair_shares(lags, limit + len(lags))
    assert all(more[tp] >= less[tp] - 1 for tp in lags)
