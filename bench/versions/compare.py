"""Rounds of pairs: the old version and the new one, one right after the other, of each shape.

An old version is exported from git into the bench's folder. Its own ``bench/programs/run_floe.py`` calls its tasks, and its
own code goes to Spark; records, tables, broker, catalog, and what measures them are this version's. Both sides run with the
same interpreter and the same packages, each with a Spark Connect server of its own; one works.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Final

from bench import machine
from bench.site import Site
from bench.size import Size
from bench.verdict import Pair, ShapeVerdict, Verdict
from bench.versions.baseline import FixedPoint, read_baseline
from bench.versions.shapes import Inputs, Measure
from bench.versions.side import Side
from stack.exceptions import StackError
from stack.progress import say, step
from stack.settings import REPOSITORY, free_port

BASELINE: Final = "baseline"
ROUNDS: Final = 9
MORE: Final = 3
"""How many times as many rounds decide about a shape that misses."""

_PROVIDER = """def get_provider_info():
    return {"package-name": "airflow-provider-floe", "name": "floe", "description": "an older version"}
"""
_PLUGIN = """from airflow.plugins_manager import AirflowPlugin


class FloePlugin(AirflowPlugin):
    name = "an older version of floe"
"""
ENTRY_POINTS: Final = {"airflow_provider": _PROVIDER, "airflow_plugin": _PLUGIN}
"""Modules of ``floe`` by the entry points in ``pyproject.toml``, as much as Airflow needs of them."""


def compare(
    folder: Path, against: str, out: Path, size: Size, rounds: int | None = None, shapes: Sequence[str] = ()
) -> bool:
    """Measure shapes, all by default, and return whether this version holds; ``against``: a commit, or ``baseline``.

    What was measured is in ``versions.json`` and ``versions.md`` after each shape.
    Raises StackError for a commit that git does not have here, and for a shape that an old version cannot do.
    """
    points = fixed_points(against, shapes)
    results = Results(out, against, size)
    with ExitStack() as stack:
        site = stack.enter_context(Site(folder, free_port(), free_port(), is_shared=size is Size.TINY))
        inputs = Inputs(site, size, stack)
        for commit in dict.fromkeys(point.commit for point in points.values()):
            tree = export(commit, folder / f"floe-{commit}")
            with Side(site, "old", tree) as old, Side(site, "new", REPOSITORY) as new:
                for shape, point in points.items():
                    if point.commit == commit:
                        measure = inputs.prepare(shape)
                        try:
                            pairs = _pairs(shape, measure, (old, new), point, size, rounds)
                        except RuntimeError as error:
                            message = f"{shape}, beside {commit}: {error}. The shapes are chosen by SHAPES=…"
                            raise StackError(message) from error
                        results.add(ShapeVerdict(shape, commit, pairs, point.limits))
            shutil.rmtree(tree)
    say(f"\n{results.file.read_text()}")
    return results.verdict.holds


def fixed_points(against: str, shapes: Sequence[str]) -> Mapping[str, FixedPoint]:
    """Return what to compare each shape with.

    Without shapes, all that a commit can do: those whose fixed point is not after it. Raises StackError.
    """
    baseline = read_baseline()
    if against == BASELINE:
        return {shape: baseline[shape] for shape in shapes or baseline}
    _require(against)
    wanted = shapes or [shape for shape, point in baseline.items() if _is_ancestor(point.commit, against)]
    for shape in baseline:
        if shape not in wanted and not shapes:
            say(f"  {shape}: not compared, as {against} is not after its fixed point; SHAPES={shape} compares it")
    if not wanted:
        msg = f"{against} is older than the fixed points of all shapes in bench/baseline: name shapes by SHAPES=…"
        raise StackError(msg)
    return {shape: FixedPoint(against) for shape in wanted}


def _pairs(
    shape: str, measure: Measure, sides: tuple[Side, Side], point: FixedPoint, size: Size, rounds: int | None
) -> list[Pair]:
    """Measure so many rounds, and more of a shape that misses; each side has run once before that counts."""
    for side in sides:
        with step(f"{shape}, {side.name}: a run that does not count"):
            measure(side, 0)
    first = rounds or size.of(ROUNDS, 2, 1)
    pairs = list(_rounds(shape, measure, sides, range(first)))
    if not ShapeVerdict(shape, point.commit, pairs, point.limits).holds and size is Size.FULL:
        say(f"  {shape} misses in {first} rounds: {first * MORE} decide")
        pairs += _rounds(shape, measure, sides, range(first, first * MORE))
    return pairs


def _rounds(shape: str, measure: Measure, sides: tuple[Side, Side], numbers: Iterable[int]) -> Iterator[Pair]:
    """Measure old, new, new, old, old …, so that none always follows the other."""
    old, new = sides
    for number in numbers:
        with step(f"{shape}, round {number + 1}"):
            if number % 2:
                second, first = measure(new, number), measure(old, number)
            else:
                first, second = measure(old, number), measure(new, number)
        one = ShapeVerdict(shape, "", [(first, second)])
        say(f"    old / new: {one.wall.median:.3f} in wall time, {one.cpu.median:.3f} in CPU time")
        yield first, second


@dataclass
class Results:
    """What was measured, in two files that are written again after each shape."""

    out: Path
    against: str
    size: Size
    verdict: Verdict = field(default_factory=lambda: Verdict(()))

    @property
    def file(self) -> Path:
        """The table."""
        return self.out / "versions.md"

    def add(self, shape: ShapeVerdict) -> None:
        """Add a shape."""
        self.verdict = Verdict((*self.verdict.shapes, shape))
        details = machine.details()
        shapes = {
            one.shape: {
                "commit": one.commit,
                "pairs": [{"old": old.to_json(), "new": new.to_json()} for old, new in one.pairs],
            }
            for one in self.verdict.shapes
        }
        results = {"machine": details, "size": self.size.value, "against": self.against, "shapes": shapes}
        (self.out / "versions.json").write_text(json.dumps(results, indent=1))
        title = f"# This version beside {self.against}"
        title += "" if self.size is Size.FULL else f", {self.size.value.upper()}: for a look only"
        measured = f"Measured on: {machine.text(details)}."
        self.file.write_text(f"{title}\n\n{self.verdict.text()}\n{measured}\n")


def export(commit: str, folder: Path) -> Path:
    """Write the files of a commit into a folder, and return it. Raises StackError for a commit that is not here."""
    _require(commit)
    archived = _git("archive", "--format=tar", commit)
    if archived.returncode:
        msg = f"the files of {commit!r} cannot be read: {archived.stderr.decode(errors='replace').strip()}"
        raise StackError(msg)
    with tarfile.open(fileobj=BytesIO(archived.stdout)) as files:
        files.extractall(folder, filter="data")
    _answer_entry_points(folder)
    return folder


def _answer_entry_points(folder: Path) -> None:
    """Give a version from before the distribution the modules that the entry points of the installed one name.

    Airflow loads them in every process, from the version on its path. They add nothing: that version's own plugin is in its
    folder of plugins.
    """
    for name, text in ENTRY_POINTS.items():
        file = folder / "plugins" / "floe" / f"{name}.py"
        if file.parent.is_dir() and not file.exists():
            file.write_text(text)
    lists = folder / "stack" / "manifest.py"  # versions that have it refuse modules that it does not list
    if lists.exists():
        subprocess.run([sys.executable, str(lists)], check=True)


def _require(commit: str) -> None:
    found = _git("rev-parse", "--quiet", "--verify", f"{commit}^{{commit}}")
    if found.returncode:
        is_shallow = _git("rev-parse", "--is-shallow-repository").stdout.strip() == b"true"
        remedy = (
            "this clone lacks history: run git fetch --unshallow" if is_shallow else "name a commit of this repository"
        )
        msg = f"there is no version {commit!r} to compare with: {remedy}"
        raise StackError(msg)


def _is_ancestor(commit: str, of: str) -> bool:
    return _git("merge-base", "--is-ancestor", commit, of).returncode == 0


def _git(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-C", str(REPOSITORY), *words], capture_output=True, check=False)
