"""Every suite of the benchmark runs to its end and into the report, with a few records: none breaks unseen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench.__main__ import ALONE, WITH_SITE
from bench.versions.baseline import read_baseline
from stack.settings import REPOSITORY

HALVES = (tuple(WITH_SITE), tuple(ALONE))
"""Those that share servers, and beside them those that need none."""

ENDS_WITHIN = 3_000
"""Seconds: what is asked here is whether it ends, beside four busy processes too."""


def run(folder: Path, suites: Sequence[str], *more: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(str(REPOSITORY / name) for name in ("plugins", "spark_jobs", "."))
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, "-m", "bench", "--size", "tiny", "--out", str(folder / "out"), *more, *suites]
    with subprocess.Popen(
        command, env=environment, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        try:
            said = running.communicate(timeout=ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            running.terminate()  # it stops what it started
            said = running.communicate()
    return subprocess.CompletedProcess(command, running.returncode, *said)


@pytest.mark.timeout(ENDS_WITHIN + 200)
def test_all_suites_run_into_their_report(tmp_path: Path) -> None:
    with ThreadPoolExecutor(len(HALVES)) as pool:
        halves = list(pool.map(run, (tmp_path / str(i) for i in range(len(HALVES))), HALVES))
    for i, done in enumerate(halves):
        assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-5_000:]
        results: Mapping[str, object] = json.loads((tmp_path / str(i) / "out" / "results.json").read_text())
        assert results["size"] == "tiny" and results["measurements"]
        assert "TINY run: for a look only." in done.stdout


def has_history() -> bool:
    commits = {point.commit for point in read_baseline().values()}
    asked = [subprocess.run(["git", "-C", str(REPOSITORY), "cat-file", "-e", one], check=False) for one in commits]
    return not any(one.returncode for one in asked)


@pytest.mark.full
@pytest.mark.timeout(ENDS_WITHIN + 200)
@pytest.mark.skipif(not has_history(), reason="the clone lacks the commits of bench/baseline: git fetch --unshallow")
@pytest.mark.parametrize("shapes", [("backlog", "hundred-tables"), ("avro", "unwrapped", "cold", "idle", "parsing")])
def test_comparison_with_older_versions_runs_to_its_verdict(tmp_path: Path, shapes: Sequence[str]) -> None:
    done = run(tmp_path, (), "--against", "baseline", "--shapes", *shapes)
    assert (tmp_path / "out" / "versions.md").exists(), done.stdout[-5_000:] + done.stderr[-5_000:]
    found = json.loads((tmp_path / "out" / "versions.json").read_text())["shapes"]
    assert {shape: one["commit"] for shape, one in found.items()} == {
        shape: read_baseline()[shape].commit for shape in shapes
    }
    assert "Traceback" not in done.stderr
