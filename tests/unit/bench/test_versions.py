"""Versions are measured in pairs, each beside its fixed point, and what was measured is written as it is found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.measurement import Measurement
from bench.size import Size
from bench.versions import compare
from bench.versions.baseline import FixedPoint, read_baseline
from bench.versions.compare import export, fixed_points
from bench.versions.shapes import SHAPES
from stack.exceptions import StackError
from stack.settings import REPOSITORY

of_a_clone = pytest.mark.skipif(not (REPOSITORY / ".git").exists(), reason="the tree is no git checkout")


class Clock:
    """Both sides, measured by a made-up clock: the old version's seconds of each round."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, old: Sequence[float]) -> None:
        self.asked: list[tuple[str, int]] = []
        self._old = old
        monkeypatch.setattr(compare, "Site", lambda *_, **__: _Entered(SimpleNamespace()))
        monkeypatch.setattr(compare, "Side", lambda _, name, __: _Entered(SimpleNamespace(name=name)))
        monkeypatch.setattr(compare, "export", lambda commit, folder: folder)
        monkeypatch.setattr(compare.Inputs, "prepare", lambda *_: self.measure)
        monkeypatch.setattr(compare.shutil, "rmtree", lambda _: None)

    def measure(self, side: Any, number: int) -> Measurement:
        self.asked.append((side.name, number))
        seconds = self._old[number] if side.name == "old" else 1.0
        return Measurement("s", "floe warm", number, 1_000_000, seconds, 1.0)


class _Entered:
    def __init__(self, entered: Any) -> None:
        self._entered = entered

    def __enter__(self) -> Any:
        return self._entered

    def __exit__(self, *_: object) -> None:
        """There is nothing to end."""


def test_pairs_take_turns_after_a_run_of_each_that_does_not_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clock = Clock(monkeypatch, [1.2] * 9)
    assert compare.compare(tmp_path, "baseline", tmp_path, Size.FULL, 3, ["backlog"])
    assert clock.asked == [
        *(("old", 0), ("new", 0)),
        *(("old", 0), ("new", 0), ("new", 1), ("old", 1), ("old", 2), ("new", 2)),
    ]


@pytest.mark.parametrize(("late", "holds"), [(1.1, True), (0.9, False)])
def test_a_shape_that_misses_is_measured_three_times_as_often(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, late: float, *, holds: bool
) -> None:
    clock = Clock(monkeypatch, [0.9] * 3 + [late] * 6)
    assert compare.compare(tmp_path, "baseline", tmp_path, Size.FULL, 3, ["backlog"]) is holds
    assert len(clock.asked) == 2 + 2 * 9


def test_what_was_measured_is_written_after_each_shape(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clock = Clock(monkeypatch, [1.0] * 9)
    done = []

    def fails_at_the_second(_: object, shape: str) -> Any:
        done.append(shape)
        if len(done) == 2:
            raise KeyboardInterrupt
        return clock.measure

    monkeypatch.setattr(compare.Inputs, "prepare", fails_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        compare.compare(tmp_path, "baseline", tmp_path, Size.FULL, None, ["backlog", "nested"])
    found = json.loads((tmp_path / "versions.json").read_text())["shapes"]
    assert list(found) == ["backlog"]
    assert len(found["backlog"]["pairs"]) == 9
    assert "| backlog |" in (tmp_path / "versions.md").read_text()


def test_a_version_that_cannot_do_a_shape_is_an_error_that_names_both(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clock = Clock(monkeypatch, [])

    def fails(*_: object) -> Measurement:
        message = "it ended early"
        raise RuntimeError(message)

    monkeypatch.setattr(clock, "measure", fails)
    commit = read_baseline()["avro"].commit
    with pytest.raises(StackError, match=f"avro, beside {commit}: it ended early.*SHAPES="):
        compare.compare(tmp_path, "baseline", tmp_path, Size.FULL, None, ["avro"])


def test_each_shape_has_a_fixed_point_and_each_fixed_point_a_shape() -> None:
    assert set(read_baseline()) == set(SHAPES)


@pytest.mark.parametrize("line", ["nested", "nested 0381cd1", "nested HEAD", "nested 0381cd1f x", "backlog 0381cd1f"])
def test_a_line_that_is_no_fixed_point_is_an_error(tmp_path: Path, line: str) -> None:
    table = tmp_path / "baseline"
    table.write_text(f"# a comment\n\nbacklog 0381cd1f\n{line}\n")
    with pytest.raises(StackError, match="line 4: "):
        read_baseline(table)


def test_a_factor_is_the_least_ratio_of_wall_time(tmp_path: Path) -> None:
    table = tmp_path / "baseline"
    table.write_text("cold 211a3cba 0.8 # by spark-submit\nnested 0381cd1f\n")
    cold, nested = read_baseline(table).values()
    assert (cold.limits.wall, cold.limits.is_aim) == (1.25, True)
    assert (nested.limits.wall, nested.limits.cpu, nested.limits.is_aim) == (0.95, 0.98, False)


@of_a_clone
def test_a_commit_is_compared_in_the_shapes_that_are_not_newer(monkeypatch: pytest.MonkeyPatch) -> None:
    points = {"backlog": FixedPoint("0381cd1f"), "avro": FixedPoint("211a3cba")}
    monkeypatch.setattr(compare, "read_baseline", lambda: points)
    monkeypatch.setattr(compare, "_is_ancestor", lambda commit, _: commit == points["backlog"].commit)
    found = fixed_points("HEAD", ())
    assert "backlog" in found
    assert "avro" not in found
    assert {point.commit for point in found.values()} == {"HEAD"}
    assert list(fixed_points("HEAD", ["avro"])) == ["avro"]
    monkeypatch.setattr(compare, "_is_ancestor", lambda *_: False)
    with pytest.raises(StackError, match="HEAD is older than the fixed points"):
        fixed_points("HEAD", ())


@of_a_clone
def test_version_before_the_distribution_has_what_its_entry_points_name(tmp_path: Path) -> None:
    tree = export(read_baseline()["parsing"].commit, tmp_path / "old")
    code = "import floe.airflow_plugin, floe.airflow_provider as it; print(it.get_provider_info()['name'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tree / "plugins"), "AIRFLOW_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["floe"], done.stderr


@of_a_clone
def test_a_commit_is_exported_as_it_is_in_git(tmp_path: Path) -> None:
    tree = export("HEAD", tmp_path / "old")
    shown = subprocess.run(["git", "-C", str(REPOSITORY), "show", "HEAD:Makefile"], capture_output=True, check=True)
    assert (tree / "Makefile").read_bytes() == shown.stdout
    assert not (tree / ".git").exists()


def test_an_unknown_commit_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="no version 'nothing-like-it' to compare with"):
        export("nothing-like-it", tmp_path / "old")
    assert not (tmp_path / "old").exists()


@of_a_clone
def test_a_clone_without_its_history_is_told_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = tmp_path / "clone"
    url = REPOSITORY.absolute().as_uri()
    subprocess.run(["git", "clone", "-q", "--depth=1", "--no-checkout", url, str(clone)], check=True)
    monkeypatch.setattr(compare, "REPOSITORY", clone)
    with pytest.raises(StackError, match="git fetch --unshallow"):
        export(read_baseline()["backlog"].commit, tmp_path / "old")
