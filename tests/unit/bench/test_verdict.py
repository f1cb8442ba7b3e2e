"""The verdict about a version beside an older one, from medians, ranges and the mean of ratios."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.measurement import Measurement, Spread
from bench.suites import versions
from bench.verdict import Compared, Verdict, judge
from stack.exceptions import StackError
from stack.settings import REPOSITORY


def measured(seconds: Sequence[float], scenario: str = "backlog", cpu: float = 2.0) -> list[Measurement]:
    return [Measurement(scenario, "floe warm", i, 1_000_000, s, cpu) for i, s in enumerate(seconds)]


def compared(old: Sequence[float], new: Sequence[float]) -> Compared:
    return Compared("backlog", "thousand a second", Spread.of(old), Spread.of(new))


@pytest.mark.parametrize(
    ("new", "holds"),
    [((98, 99, 100), True), ((97, 98, 300), True), ((400, 400, 400), True), ((97.9, 97.9, 300), False)],
    ids=["inside", "at the lower end", "above", "below"],
)
def test_a_new_median_is_inside_or_above_the_range(new: Sequence[float], holds: bool) -> None:
    assert compared((98, 101, 104), new).holds is holds


def test_a_ratio_is_that_of_medians() -> None:
    assert compared((1, 100, 1000), (5, 50, 5000)).ratio == 0.5


def test_a_mean_below_the_least_fails_inside_all_ranges() -> None:
    wide = compared((50, 100, 150), (96, 96, 96))
    assert wide.holds
    assert not Verdict([wide]).holds
    assert Verdict([compared((50, 100, 150), (97, 97, 97))]).holds


def test_a_mean_is_geometric() -> None:
    verdict = Verdict([compared((100,), (200,)), compared((1, 100), (25.25, 25.25))])
    assert verdict.mean == pytest.approx(1.0)
    assert verdict.holds


def test_one_median_below_its_range_fails_whatever_the_mean() -> None:
    verdict = Verdict([compared((100,), (300,)), compared((100,), (99,))])
    assert verdict.mean > 1
    assert not verdict.holds
    assert "**Slower.**" in verdict.text()
    assert "| backlog | thousand a second | 100.0 (100.0–100.0) | 99.0 (99.0–99.0) | 0.990 | **no** |" in verdict.text()


def test_wall_and_cpu_time_are_judged_by_scenario() -> None:
    old = measured((2.0, 4.0, 2.5)) + measured((1.0,), "nested", cpu=5.0)
    new = measured((2.0, 2.0, 2.0)) + measured((1.0,), "nested", cpu=4.0)
    verdict = judge({"old": old, "new": new})
    assert [(c.scenario, c.figure, c.ratio) for c in verdict.compared] == [
        ("backlog", "thousand a second", 1.25),
        ("backlog", "thousand a CPU second", 1.0),
        ("nested", "thousand a second", 1.0),
        ("nested", "thousand a CPU second", 1.25),
    ]
    assert verdict.holds
    assert "Not slower." in verdict.text()


def test_a_scenario_of_one_version_only_is_an_error() -> None:
    with pytest.raises(ValueError, match="'nested' was measured 0 times for the old version and 1"):
        judge({"old": measured((1.0,)), "new": measured((1.0,)) + measured((1.0,), "nested")})


@pytest.mark.skipif(not (REPOSITORY / ".git").exists(), reason="the tree is no git checkout")
def test_a_commit_is_exported_as_it_is_in_git(tmp_path: Path) -> None:
    tree = versions.export("HEAD", tmp_path / "old")
    shown = subprocess.run(["git", "-C", str(REPOSITORY), "show", "HEAD:Makefile"], capture_output=True, check=True)
    assert (tree / "Makefile").read_bytes() == shown.stdout
    assert not (tree / ".git").exists()


def test_an_unknown_commit_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="no version 'nothing-like-it' to compare with"):
        versions.export("nothing-like-it", tmp_path / "old")
    assert not (tmp_path / "old").exists()
