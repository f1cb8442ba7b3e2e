"""Intervals, against a set of integers."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from floe.model.offsets import Intervals

SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=6)


def offsets(spans: object) -> set[int]:
    return {offset for start, end in spans for offset in range(start, end)}  # type: ignore[attr-defined]


def is_canonical(intervals: Intervals) -> bool:
    flat = [bound for span in intervals for bound in span]
    return all(a < b for a, b in pairwise(flat))


@given(SPANS)
def test_building_keeps_offsets_once_sorted_and_apart(spans: list[tuple[int, int]]) -> None:
    built = Intervals.of(spans)
    assert offsets(built) == offsets(spans)
    assert built.offsets == len(offsets(spans))
    assert bool(built) == bool(offsets(spans))
    assert is_canonical(built)


@given(SPANS, SPANS)
def test_union_intersection_and_difference_are_those_of_sets(
    a: list[tuple[int, int]], b: list[tuple[int, int]]
) -> None:
    left, right = Intervals.of(a), Intervals.of(b)
    for result, expected in (
        (left | right, offsets(a) | offsets(b)),
        (left & right, offsets(a) & offsets(b)),
        (left - right, offsets(a) - offsets(b)),
    ):
        assert offsets(result) == expected
        assert is_canonical(result)


@given(SPANS, SPANS)
def test_one_covers_another_when_it_is_a_superset(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    assert Intervals.of(a).covers(Intervals.of(b)) == (offsets(a) >= offsets(b))


@given(SPANS, st.integers(-1, 41))
def test_an_offset_is_in_it_when_one_of_its_spans_has_it(spans: list[tuple[int, int]], offset: int) -> None:
    assert Intervals.of(spans).has(offset) == (offset in offsets(spans))


@given(SPANS)
def test_equal_sets_are_equal_values_however_they_were_cut(spans: list[tuple[int, int]]) -> None:
    assert Intervals.of(spans) == Intervals.of((o, o + 1) for o in offsets(spans))


def test_spans_may_come_as_lists_from_json() -> None:
    assert Intervals.of([[5, 7], [0, 5]]).spans == ((0, 7),)


def test_spans_of_any_length_need_no_memory_per_offset() -> None:
    assert list(Intervals(((0, 2**62),))) == [(0, 2**62)]
