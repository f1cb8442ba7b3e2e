"""The suite of many partitions and tables, whose stand-in of a cluster has to have all that a plan asks of one."""

from __future__ import annotations

from pathlib import Path

from bench.size import Size
from bench.suites import scale


def test_a_plan_and_commits_are_measured_with_what_the_suite_stands_in_for(tmp_path: Path) -> None:
    plan, commits = scale.measure(tmp_path, Size.TINY)
    assert plan.more["partitions"] == 50
    assert 0 < plan.more["value"] < scale.SECONDS
    assert commits.more["value"] > 0
