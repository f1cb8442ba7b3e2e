"""The planner: the slices of a run, and fair shares."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from floe.model.offsets import TopicPartition
from floe.model.plan import SliceKind
from floe.model.positions import LeaderEpoch, Position
from floe.planning.slicing import allocate, cut_slices, fair_shares, with_epochs
from tests.support.partitions import is_behind, log, position, span

AB = ("a", "b")
Cut = tuple[str, tuple[str, ...], list[str]]


def cut(*positions: Position, tables: tuple[str, ...] = AB, limit: int | None = None, end: int = 100) -> list[Cut]:
    """Return each slice as kind, tables and ranges."""
    slices = cut_slices(positions, [log(p, end=end) for p in range(3)], tables, limit)
    assert [s.index for s in slices] == list(range(len(slices)))
    return [(s.kind, s.tables, [str(r) for r in s.ranges]) for s in slices]


def test_what_is_new_is_one_slice_for_all_tables() -> None:
    assert cut(position(90), position(80, 1), position(100, 2)) == [
        ("live", AB, ["pizzas-0[90, 100)", "pizzas-1[80, 100)"])
    ]


def test_without_anything_new_or_owed_there_is_no_slice() -> None:
    assert cut(position(100), position(100, 1)) == []


def test_positions_get_the_leader_epoch_up_to_what_is_planned() -> None:
    logs = [replace(log(p), epoch=7) for p in range(3)]
    positions = [position(90), position(80, 1, epoch=LeaderEpoch(5, 95)), position(100, 2, epoch=LeaderEpoch(7, 100))]
    slices = cut_slices(positions, logs, AB, 4)
    ends = [p.metadata_fields.epoch for p in with_epochs(positions, logs, slices)]
    # of the second one an earlier run had planned more, and may have committed it
    assert ends == [LeaderEpoch(7, 92), LeaderEpoch(7, 95), LeaderEpoch(7, 100)]
    assert with_epochs(positions, [log(p) for p in range(3)], slices) == tuple(positions)


def test_table_behind_has_its_own_slice_up_to_end_of_run() -> None:
    assert cut(position(90, backlogs=is_behind(b=70))) == [
        ("live", AB, ["pizzas-0[90, 100)"]),
        ("catch-up", ("b",), ["pizzas-0[70, 100)"]),
    ]


def test_each_table_behind_has_its_slice_in_order_of_names() -> None:
    cuts = cut(
        position(90, backlogs=is_behind(b=70, a=80)), position(100, 1, backlogs=is_behind(b=5)), tables=("a", "b", "c")
    )
    assert cuts == [
        ("live", ("a", "b", "c"), ["pizzas-0[90, 100)"]),
        ("catch-up", ("a",), ["pizzas-0[80, 100)"]),
        ("catch-up", ("b",), ["pizzas-0[70, 100)", "pizzas-1[5, 100)"]),
    ]


def test_a_debt_is_paid_also_when_nothing_is_new() -> None:
    assert cut(position(100, backlogs=is_behind(a=60))) == [("catch-up", ("a",), ["pizzas-0[60, 100)"])]


def test_partition_all_tables_are_behind_on_has_no_live_range() -> None:
    """Nothing that no table could take is read ahead."""
    assert cut(position(90, backlogs=is_behind(a=70, b=80)), position(95, 1)) == [
        ("live", AB, ["pizzas-1[95, 100)"]),
        ("catch-up", ("a",), ["pizzas-0[70, 90)"]),
        ("catch-up", ("b",), ["pizzas-0[80, 90)"]),
    ]
    assert cut(position(90, backlogs=is_behind(a=70)), tables=("a",)) == [("catch-up", ("a",), ["pizzas-0[70, 90)"])]


def test_the_limit_holds_for_each_slice_by_itself() -> None:
    cuts = cut(position(50, backlogs=is_behind(b=10)), position(50, 1, backlogs=is_behind(b=20)), limit=20)
    assert cuts == [
        ("live", AB, ["pizzas-0[50, 60)", "pizzas-1[50, 60)"]),
        ("catch-up", ("b",), ["pizzas-0[10, 20)", "pizzas-1[20, 30)"]),
    ]


def test_a_debt_is_caught_up_no_further_than_what_the_run_reads() -> None:
    assert cut(position(50, backlogs=is_behind(b=45)), limit=10) == [
        ("live", AB, ["pizzas-0[50, 60)"]),
        ("catch-up", ("b",), ["pizzas-0[45, 55)"]),
    ]
    assert cut(position(50, backlogs=is_behind(b=45)), limit=0) == []


DEBTS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 40), max_size=3)


@given(st.lists(st.tuples(st.integers(0, 100), DEBTS), min_size=1, max_size=3), st.none() | st.integers(0, 80))
def test_every_slice_is_within_limit_and_no_table_gets_a_gap(
    parts: list[tuple[int, dict[str, int]]], limit: int | None
) -> None:
    positions = [
        position(offset, p, backlogs=is_behind(**{t: start for t, start in backlogs.items() if start < offset}))
        for p, (offset, backlogs) in enumerate(parts)
    ]
    offsets = {p.tp: p for p in positions}
    slices = cut_slices(positions, [log(p) for p in range(3)], tuple("abc"), limit)
    live_ends = {r.tp: r.end for s in slices if s.kind is SliceKind.LIVE for r in s.ranges}
    for slice_ in slices:
        assert slice_.ranges
        assert limit is None or slice_.records <= limit
        assert len({r.tp for r in slice_.ranges}) == len(slice_.ranges)
        for r in slice_.ranges:
            assert len(r)
            if slice_.kind is SliceKind.LIVE:
                assert r.start == offsets[r.tp].offset
                assert len(offsets[r.tp].backlogs) < 3
            else:
                assert r.start == offsets[r.tp].backlogs[slice_.table].start
                assert r.end <= live_ends.get(r.tp, offsets[r.tp].offset)


def test_ranges_are_position_to_stable_end_idle_ones_omitted() -> None:
    positions = [position(5), position(100, 1), position(99, 2)]
    ranges = allocate(positions, [log(0), log(1), log(2)], None)
    assert ranges == (span(5, 100), span(99, 100, 2))


def test_limit_cuts_range_ends_and_starves_no_partition() -> None:
    positions = [position(0), position(0, 1)]
    ranges = allocate(positions, [log(0, end=1_000_000), log(1, end=10)], 110)
    assert [len(r) for r in ranges] == [100, 10]
    assert allocate(positions, [log(0), log(1)], 0) == ()


LAGS = st.dictionaries(st.integers(0, 9).map(lambda p: TopicPartition("t", p)), st.integers(0, 60), max_size=8)


@given(LAGS, st.none() | st.integers(0, 200))
def test_shares_use_whole_limit_and_none_exceeds_its_lag(lags: dict[TopicPartition, int], limit: int | None) -> None:
    shares = fair_shares(lags, limit)
    assert shares.keys() == lags.keys()
    assert all(0 <= shares[tp] <= lag for tp, lag in lags.items())
    assert sum(shares.values()) == min(sum(lags.values()), sum(lags.values()) if limit is None else limit)


@given(LAGS, st.integers(0, 200))
def test_share_below_lag_equals_others_within_one_offset(lags: dict[TopicPartition, int], limit: int) -> None:
    shares = fair_shares(lags, limit)
    cut = [share for tp, share in shares.items() if share < lags[tp]]
    assert all(share <= min(cut) + 1 for share in shares.values()) if cut else True


@given(LAGS, st.integers(0, 200))
def test_larger_limit_reduces_no_share_by_more_than_one_offset(lags: dict[TopicPartition, int], limit: int) -> None:
    less, more = fair_shares(lags, limit), fair_shares(lags, limit + len(lags))
    assert all(more[tp] >= less[tp] - 1 for tp in lags)
