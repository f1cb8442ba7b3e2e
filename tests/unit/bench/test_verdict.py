"""The verdict about a version beside an older one, from paired ratios, their medians, and the means of these."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bench.measurement import Measurement
from bench.verdict import PLAIN, Limits, Pair, ShapeVerdict, Verdict


def pair(wall: float, cpu: float = 1.0, records: int = 1_000_000) -> Pair:
    """Return a pair in which the old version took so many times the seconds of the new one."""
    old, new = (
        Measurement("backlog", "floe warm", 0, records, s, c) for s, c in ((2 * wall, 4 * cpu), (2.0, 4.0))
    )  # fmt: skip
    return old, new


def shape(pairs: Sequence[Pair], limits: Limits = PLAIN, name: str = "backlog") -> ShapeVerdict:
    return ShapeVerdict(name, "0123456789abcdef", pairs, limits)


@pytest.mark.parametrize(
    ("wall", "cpu", "holds"),
    [(0.95, 0.98, True), (0.949, 1.5, False), (1.5, 0.979, False), (1.2, 1.2, True)],
    ids=["at both limits", "slower", "more CPU", "faster"],
)
def test_the_median_of_paired_ratios_is_judged(wall: float, cpu: float, *, holds: bool) -> None:
    pairs = [pair(0.1, 0.1), pair(wall, cpu), pair(9.0, 9.0)]
    assert shape(pairs).holds is holds


def test_ratios_are_paired_before_their_median_is_taken() -> None:
    loaded = [(one[0], two[1]) for one, two in zip([pair(1.0), pair(3.0), pair(5.0)], [pair(1.0)] * 3, strict=True)]
    assert shape(loaded).wall.median == pytest.approx(3.0)
    assert shape(loaded).wall.text(2) == "3.00 (1.00–5.00)"


def test_ratios_are_of_what_a_record_costs() -> None:
    (old, _), (_, new) = pair(1.0, records=1_000_000), pair(1.0, records=2_000_000)
    assert shape([(old, new)]).wall.median == pytest.approx(2.0)


@pytest.mark.parametrize(("other", "holds"), [(1.0417, True), (1.03, False)])
def test_both_means_are_geometric_and_at_least_one(other: float, *, holds: bool) -> None:
    verdict = Verdict([shape([pair(0.96, 1.0)]), shape([pair(other, 1.0)], name="nested")])
    assert all(one.holds for one in verdict.shapes)
    assert verdict.means[0] == pytest.approx((0.96 * other) ** 0.5)
    assert verdict.holds is holds


def test_one_shape_that_misses_fails_whatever_the_mean() -> None:
    verdict = Verdict([shape([pair(3.0, 3.0)]), shape([pair(0.9)], name="nested")])
    assert verdict.means[0] > 1
    assert not verdict.holds
    assert "**It does not hold.**" in verdict.text()
    wall, cpu = "1.80 | 2.00 | 0.900 (0.900–0.900) | 0.95", "4.00 | 4.00 | 1.000 (1.000–1.000) | 0.98"
    assert f"| nested | 01234567 | 1 | {wall} | {cpu} | **no** |" in verdict.text()


def test_a_shape_with_an_aim_has_to_reach_it_and_counts_for_no_mean() -> None:
    aim = Limits.of_factor(0.85)
    assert not shape([pair(1.17)], aim).holds
    reached = shape([pair(1.18)], aim, "cold")
    assert reached.holds
    verdict = Verdict([reached, shape([pair(1.0)])])
    assert verdict.means == pytest.approx((1.0, 1.0))
    assert verdict.holds
    assert Verdict([reached]).holds
