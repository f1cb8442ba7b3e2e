"""Cutting: no slice above its limit, nothing wanted left out, no more read than need be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floe.model.exceptions import PlanRefused
from floe.model.holding import Holding, LogId
from floe.model.ledger import Ledger
from floe.model.offsets import Intervals, OffsetRange
from floe.planning.replay_request import Overlap
from floe.planning.slicing import Forecast, cut, forecast, new_offsets_of


def range_of(partition: int, start: int, end: int) -> OffsetRange:
    return OffsetRange("pizzas", "id", partition, start, end)


def whole(*ranges: OffsetRange) -> dict[OffsetRange, Intervals]:
    return {r: Intervals.of([(r.start, r.end)]) for r in ranges}


def test_ranges_are_cut_in_order_and_slices_are_filled() -> None:
    ranges = [range_of(0, 0, 100), range_of(1, 0, 50)]
    assert cut(ranges, [whole(*ranges)], 60) == (
        (range_of(0, 0, 60),),
        (range_of(0, 60, 100), range_of(1, 0, 20)),
        (range_of(1, 20, 50),),
    )


def test_without_a_limit_all_is_one_slice() -> None:
    ranges = [range_of(0, 0, 100), range_of(1, 0, 50)]
    assert cut(ranges, [whole(*ranges)], None) == ((range_of(0, 0, 100), range_of(1, 0, 50)),)


def test_offsets_in_every_table_are_not_read_again() -> None:
    r = range_of(0, 0, 1000)
    new_ranges = [{r: Intervals.of([(10, 20)])}, {r: Intervals.of([(15, 30), (900, 910)])}]
    assert cut([r], new_ranges, 100) == ((range_of(0, 10, 30),), (range_of(0, 900, 910),))
    assert cut([r], new_ranges, None) == ((range_of(0, 10, 910),),)
    assert cut([r], [{r: Intervals()}], 100) == ()


def test_replay_of_too_many_slices_is_refused_early() -> None:
    r = range_of(0, 0, 10**15)
    with pytest.raises(PlanRefused, match=r"more than 1000 slices of 3 records.*raise max_records"):
        cut([r], [whole(r)], 3)
    assert len(cut([r], [whole(r)], 10**12)) == 1000


spans = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=6).map(Intervals.of)


@given(st.lists(st.lists(spans, min_size=3, max_size=3), min_size=1, max_size=3), st.integers(1, 70) | st.none())
def test_slices_have_wanted_offsets_once_within_limit(tables: list[list[Intervals]], limit: int | None) -> None:
    ranges = [range_of(p, 0, 60) for p in range(3)]
    new_ranges = [dict(zip(ranges, table, strict=True)) for table in tables]
    slices = cut(ranges, new_ranges, limit)
    for range_parts in slices:
        assert len({p.tp for p in range_parts}) == len(range_parts) > 0
        assert limit is None or sum(len(p) for p in range_parts) <= limit
    for r in ranges:
        read = [(p.start, p.end) for range_parts in slices for p in range_parts if p.tp == r.tp]
        assert read == sorted(read)
        assert sum(end - start for start, end in read) == Intervals.of(read).offsets
        wanted = Intervals.of(span for new_offsets in new_ranges for span in new_offsets[r])
        assert Intervals.of(read).covers(wanted)
        assert all(wanted.has(start) and wanted.has(end - 1) for start, end in read)


def ledger(held: dict[str, Intervals]) -> Ledger:
    return Ledger("C", {LogId("pizzas", "id", 0): Holding(held)})


def test_skip_omits_written_offsets_and_append_does_not() -> None:
    r = range_of(0, 0, 100)
    held = ledger({"R": Intervals.of([(20, 40)])})
    assert new_offsets_of("db.t", held, [r], "R", Overlap.SKIP) == {r: Intervals.of([(0, 20), (40, 100)])}
    assert new_offsets_of("db.t", held, [r], "R", Overlap.APPEND) == whole(r)
    assert new_offsets_of("db.t", None, [r], "R", Overlap.SKIP) == whole(r)


def test_skip_over_offsets_of_another_route_is_refused() -> None:
    held = ledger({"old": Intervals.of([(20, 40), (60, 70)]), "R": Intervals.of([(70, 90)])})
    with pytest.raises(PlanRefused, match=r"'db\.t' contains the offsets \[20, 40\), \[60, 65\) of pizzas-0.*append"):
        new_offsets_of("db.t", held, [range_of(0, 0, 65)], "R", Overlap.SKIP)
    for r in (range_of(0, 0, 20), range_of(0, 40, 60), range_of(0, 70, 100)):
        assert new_offsets_of("db.t", held, [r], "R", Overlap.SKIP)
    assert new_offsets_of("db.t", held, [range_of(0, 0, 65)], "R", Overlap.APPEND)


def test_forecast_reports_read_written_and_new_per_table() -> None:
    r = range_of(0, 0, 100)
    new_ranges = {"db.a": {r: Intervals.of([(10, 30)])}, "db.b": {r: Intervals.of([(0, 5)])}}
    slices = cut([r], list(new_ranges.values()), 10)
    assert forecast([r], slices, new_ranges, {"db.a": {r: 80}}) == (
        Forecast("db.a", r, 25, 80, 20),
        Forecast("db.b", r, 25, None, 5),
    )
