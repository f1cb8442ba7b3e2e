"""What a slice reads after a write that took too long: half, and twice as much again once there is time for it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floe.model.plan import (
    Plan,
    Slice,
    SliceEnd,
    SliceKind,
    halved,
    limit_of,
    positions_after,
    positions_limited,
    raised,
    smaller,
)
from floe.model.positions import LIVE, MAX_METADATA_LENGTH, PartitionBacklog, Position, PositionMetadata
from floe.planning.slicing import cut_slices
from tests.support.partitions import is_behind, log, position, span


@given(st.none() | st.integers(1, 2**40), st.integers(1, 2**40))
def test_halved_limit_is_at_most_half_and_at_least_one(limit: int | None, read: int) -> None:
    after = halved(limit, read)
    assert 1 <= after <= max(1, read // 2)
    assert limit is None or after <= limit


@given(st.integers(1, 2**40))
def test_halved_limit_of_ever_slower_writes_ends_at_one(read: int) -> None:
    for _ in range(41):
        read = halved(None, read)
    assert read == 1


def test_grown_limit_doubles_only_where_there_is_time_for_it() -> None:
    assert raised(8, 8, is_quick=True) == 16
    assert raised(8, 8, is_quick=False) == 8
    assert raised(8, 100, is_quick=False) == 100


def test_grown_limit_that_kept_nothing_back_is_gone() -> None:
    assert raised(8, 7, is_quick=False) is None


def test_smaller_of_two_limits_counts_and_none_is_no_limit() -> None:
    assert (smaller(None, None), smaller(3, None), smaller(None, 4), smaller(3, 4)) == (None, 3, 4, 3)


# -- kept beside the position -----------------------------------------------------------------------------------------


def test_metadata_keeps_limits_of_live_and_catch_up() -> None:
    kept = position(50, backlogs=is_behind(a=7), limits={LIVE: 5, "a": 3, "gone": 1})
    assert kept.limits == {LIVE: 5, "a": 3}
    assert position(50).limits == {} == Position(kept.tp, 50, "another program's").limits
    assert '"limits"' not in position(50).metadata


@pytest.mark.parametrize("limits", ['{"": 0}', '{"": -1}', '{"": "x"}', "[1]", "7"])
def test_metadata_with_an_impossible_limit_is_not_floes(limits: str) -> None:
    text = position(50).metadata[:-1] + f',"limits":{limits}}}'
    assert PositionMetadata.decode(text) is None


def test_metadata_without_room_leaves_the_limits_out_first() -> None:
    facts = PositionMetadata("R", 3, "T1", "C1", owner="pizzas", limits={LIVE: 5})
    for count in range(1, 200):
        backlogs = {f"rpc.table_{i:04d}": PartitionBacklog(1, "r" * 12) for i in range(count)}
        text = replace(facts, backlogs=backlogs).encode()
        if len(text.encode()) > MAX_METADATA_LENGTH:
            break
        found = PositionMetadata.decode(text)
        assert found is not None
        assert found.backlogs == backlogs
        assert found.owner or not found.limits
    else:
        pytest.fail("there was room for everything")


# -- the plan ---------------------------------------------------------------------------------------------------------


def test_slice_reads_no_more_than_the_limit_of_its_name() -> None:
    positions = [position(50, backlogs=is_behind(a=0), limits={LIVE: 8, "a": 6}), position(40, 1)]
    live, behind = cut_slices(positions, [log(0), log(1)], ("a", "b"), None)
    assert (live.kind, live.records) == ("live", 8)
    assert (behind.kind, behind.records) == ("catch-up", 6)


@pytest.mark.parametrize(("asked", "read"), [(5, 5), (20, 8)])
def test_slice_reads_the_smaller_of_both_limits(asked: int, read: int) -> None:
    (live,) = cut_slices([position(50, limits={LIVE: 8})], [log()], ("a",), asked)
    assert live.records == read


# -- the commit -------------------------------------------------------------------------------------------------------


def after(found: Position, read: int, *, is_quick: bool = True) -> int | None:
    slice_ = Slice(0, SliceKind.LIVE, (span(found.offset, found.offset + read),), ("a",))
    plan = Plan("p", "c", "g", "C1", {}, "control", {}, (found,), (slice_,))
    (moved,) = positions_after(plan, [found], [SliceEnd(slice_, {}, True, is_quick)])
    assert moved.offset == found.offset + read
    return limit_of([moved], LIVE)


def test_committed_slice_doubles_the_limit_or_removes_it() -> None:
    assert after(position(50, limits={LIVE: 8}), 8) == 16
    assert after(position(50, limits={LIVE: 8}), 8, is_quick=False) == 8
    assert after(position(50, limits={LIVE: 8}), 7) is None
    assert after(position(50), 8) is None


def test_committed_slice_leaves_the_limits_of_other_slices() -> None:
    found = position(50, backlogs=is_behind(a=7), limits={LIVE: 8, "a": 3})
    slice_ = Slice(1, SliceKind.CATCH_UP, (span(7, 10),), ("a",))
    plan = Plan("p", "c", "g", "C1", {}, "control", {}, (found,), (slice_,))
    (moved,) = positions_after(plan, [found], [SliceEnd(slice_, {}, True)])
    assert moved.limits == {LIVE: 8, "a": 6}


def test_slow_slice_limits_every_position_and_moves_none() -> None:
    found = (position(50), position(60, 1, limits={LIVE: 9}))
    slice_ = Slice(0, SliceKind.LIVE, (span(50, 60), span(60, 71, 1)), ("a",))
    limited = positions_limited(found, [slice_])
    assert [p.offset for p in limited] == [50, 60]
    assert [p.limits for p in limited] == [{LIVE: 10}, {LIVE: 9}]
    assert limit_of(limited, LIVE) == 9
    assert [replace(p.metadata_fields, limits={}) for p in limited] == [
        replace(p.metadata_fields, limits={}) for p in found
    ]
