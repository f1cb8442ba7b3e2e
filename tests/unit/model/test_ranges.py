"""Ranges of offsets: their pieces and their JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floe.model.offsets import OffsetRange, TopicPartition, ranges_from_json, ranges_to_json


@given(st.integers(0, 1000), st.integers(0, 200), st.integers(-1, 300))
def test_parts_are_in_order_without_gap_and_nearly_equal(start: int, length: int, count: int) -> None:
    r = OffsetRange("t", "id", 3, start, start + length)
    parts = list(r.split(count))
    assert [p.start for p in parts] == [start, *(p.end for p in parts[:-1])]
    assert parts[-1].end == r.end
    assert {(p.topic, p.topic_id, p.partition) for p in parts} == {("t", "id", 3)}
    assert len(parts) == max(1, min(count, length))
    lengths = [len(p) for p in parts]
    assert max(lengths) - min(lengths) <= 1
    assert min(lengths) > 0 or length == 0


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (5, 4)])
def test_range_backwards_or_below_zero_is_refused_by_name(start: int, end: int) -> None:
    with pytest.raises(ValueError, match=r"of pizzas-7"):
        OffsetRange("pizzas", "id", 7, start, end)


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(0, 99), st.integers(0, 99)),
        unique_by=lambda r: r[:2],
    )
)
def test_ranges_survive_json_grouped_by_topic(drawn: list[tuple[str, int, int, int]]) -> None:
    ranges = [OffsetRange(topic, f"id-{topic}", p, min(s, e), max(s, e)) for topic, p, s, e in drawn]
    read = ranges_from_json(json.loads(json.dumps(ranges_to_json(ranges))))
    assert sorted(read, key=str) == sorted(ranges, key=str)


def test_two_incarnations_of_one_topic_are_no_set_of_ranges() -> None:
    with pytest.raises(ValueError, match="two incarnations of topic 't'"):
        ranges_to_json([OffsetRange("t", "old", 0, 0, 1), OffsetRange("t", "new", 1, 0, 1)])


def test_a_range_prints_as_people_write_it() -> None:
    assert str(OffsetRange("t", "id", 1, 2, 5)) == "t-1[2, 5)"
    assert OffsetRange("t", "id", 1, 2, 5).tp == TopicPartition("t", 1)
