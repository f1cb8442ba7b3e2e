"""Two versions are measured in alternation, each by a process of its own, driven over its input and output."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.records import PIZZA
from bench.scenario import Scenario
from bench.suites import versions

SERVES = """
import json, sys
print("ready", flush=True)
for number, line in enumerate(sys.stdin):
    asked = json.loads(line)
    if asked["name"] == "broken":
        print("no rows are visible", file=sys.stderr)
        sys.exit(1)
    fields = dict(scenario=asked["name"], system=asked["shape"], round=number, records=asked["records"])
    fields |= dict(seconds=1.0, cpu_seconds=2.0)
    print(json.dumps(fields), flush=True)
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    program = tmp_path / "serve.py"
    program.write_text(SERVES)
    monkeypatch.setattr(versions, "PROGRAM", program)
    monkeypatch.setattr(versions, "fill", lambda *_: None)
    visible = SimpleNamespace(database=tmp_path / "db")
    process = SimpleNamespace(pid=1)
    return SimpleNamespace(folder=tmp_path, bootstrap="b:1", catalog_props={}, visible=visible, catalog_process=process)


def test_versions_are_measured_in_turns_after_one_run_each(site: Any, tmp_path: Path) -> None:
    with versions._serving(site, "old", tmp_path) as old, versions._serving(site, "new", tmp_path) as new:
        sides = {"old": old, "new": new}
        found = list(versions._rounds(site, sides, Scenario("backlog", PIZZA, "pizza", 7), 2))
    assert [(name, one.round) for name, one in found] == [("old", 1), ("new", 1), ("new", 2), ("old", 2)]
    assert {(one.scenario, one.system, one.records) for _, one in found} == {("backlog", "pizza", 7)}
    assert [old.process.returncode, new.process.returncode] == [0, 0]


def test_a_version_that_fails_says_why(site: Any, tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError, match="no rows are visible"),
        versions._serving(site, "old", tmp_path) as old,
    ):
        old.measure(Scenario("broken", PIZZA, "pizza", 7))
    assert old.process.returncode == 1
