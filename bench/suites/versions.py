"""Is this version as fast as an older one? Both in one run, in alternation, over the same topics and the same catalog.

The older version is exported from git into the bench's folder, and measured by its own bench, which ``serve_floe`` drives
with the same interpreter and the same packages. A Spark Connect server of each is up; one works.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from bench import machine
from bench.measurement import Measurement
from bench.records import NESTED, PIZZA, ROUTED
from bench.scenario import Scenario
from bench.site import Site
from bench.size import Size
from bench.suites.side_by_side import BACKLOG
from bench.systems.floe import read_line
from bench.topics import fill
from bench.verdict import Verdict, judge
from stack.exceptions import StackError
from stack.progress import say, step
from stack.settings import REPOSITORY, free_port

ROUNDS = 5
PROGRAM = REPOSITORY / "bench" / "programs" / "serve_floe.py"
ENDS_WITHIN = 60.0


def scenarios(size: Size) -> list[Scenario]:
    """Return one table, a hundred tables that records name, and nested records."""
    most, some = size.of((5_000_000, 1_000_000), (20_000, 10_000), (2_000, 2_000))
    return [
        Scenario(BACKLOG, PIZZA, "pizza", most),
        Scenario("hundred tables", ROUTED, "routed", some, "hundred"),
        Scenario("nested", NESTED, "nested", some),
    ]


def compare(folder: Path, commit: str, out: Path, size: Size, rounds: int | None) -> bool:
    """Measure both versions, write ``versions.json`` and ``versions.md``, and return whether the new one is as fast.

    Raises StackError for a commit that git does not know.
    """
    rounds = rounds or size.of(ROUNDS, 2, 1)
    tree = export(commit, folder / "old-version")
    measured: dict[str, list[Measurement]] = {"old": [], "new": []}
    with Site(folder, free_port(), free_port()) as site, ExitStack() as up:
        sides = {"old": up.enter_context(_serving(site, "old", tree))}
        sides["new"] = up.enter_context(_serving(site, "new", REPOSITORY))
        for scenario in scenarios(size):
            for name, found in _rounds(site, sides, scenario, rounds):
                measured[name].append(found)
    verdict = judge(measured)
    _write(out, commit, size, measured, verdict)
    say(f"\n{(out / 'versions.md').read_text()}")
    return verdict.holds


def export(commit: str, folder: Path) -> Path:
    """Write the files of a commit into a folder, and return it. Raises StackError for a commit that git does not know."""
    command = ["git", "-C", str(REPOSITORY), "archive", "--format=tar", commit]
    archived = subprocess.run(command, capture_output=True, check=False)
    if archived.returncode:
        said = archived.stderr.decode(errors="replace").strip()
        msg = f"there is no version {commit!r} to compare with ({said}): name a commit of this repository"
        raise StackError(msg)
    with tarfile.open(fileobj=BytesIO(archived.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


@dataclass
class Side:
    """One version: the process that measures it."""

    process: subprocess.Popen[str]
    log: str

    def measure(self, scenario: Scenario) -> Measurement:
        """Run floe once over a scenario. Raises RuntimeError with the end of the log if that fails."""
        assert self.process.stdin is not None
        asked = {**vars(scenario), "shape": scenario.shape.name}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        return Measurement(**json.loads(read_line(self.process.stdout, "{", self.log)))


def _rounds(site: Site, sides: dict[str, Side], scenario: Scenario, rounds: int) -> Iterator[tuple[str, Measurement]]:
    """Measure old, new, new, old, old …, so that none always follows the other; each has run once before that counts."""
    with step(f"{scenario.records} records in topic {scenario.topic!r}"):
        fill(site.bootstrap, scenario.topic, scenario.shape, scenario.records)
    for side in sides.values():
        side.measure(scenario)
    for number in range(rounds):
        in_order = list(sides.items())
        for name, side in reversed(in_order) if number % 2 else in_order:
            with step(f"{scenario.name}, round {number + 1}: {name}"):
                found = side.measure(scenario)
            say(f"    {found.seconds:.2f} s, {found.cpu_seconds:.1f} CPU seconds")
            yield name, found


@contextmanager
def _serving(site: Site, name: str, tree: Path) -> Iterator[Side]:
    """Keep a version up until the end."""
    folder = site.folder / name
    folder.mkdir()
    address = {
        "folder": str(folder),
        "bootstrap": site.bootstrap,
        "catalog": site.catalog_props,
        "database": str(site.visible.database),
        "pid": site.catalog_process.pid,
    }
    (folder / "site.json").write_text(json.dumps(address))
    paths = os.pathsep.join(str(tree / part) for part in ("plugins", "spark_jobs", "."))
    command = [sys.executable, str(PROGRAM), str(folder / "site.json")]
    with (folder / "serve.log").open("w") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, "PYTHONPATH": paths},
            cwd=folder,
            text=True,
        )
    try:
        with step(f"the {name} version, warm"):
            read_line(process.stdout, "ready", log.name)
        yield Side(process, log.name)
    finally:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """Close a side's input, at which it stops its server; end it if that takes too long."""
    assert process.stdin is not None
    with process:
        process.stdin.close()
        try:
            process.wait(ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            process.terminate()


def _write(out: Path, commit: str, size: Size, measured: Mapping[str, Sequence[Measurement]], verdict: Verdict) -> None:
    details = machine.details()
    found = {name: [one.to_json() for one in measurements] for name, measurements in measured.items()}
    results = {"machine": details, "size": size.value, "against": commit, "measurements": found}
    (out / "versions.json").write_text(json.dumps(results, indent=1))
    title = f"# This version beside {commit}{'' if size is Size.FULL else f', {size.value.upper()}: for a look only'}"
    (out / "versions.md").write_text(f"{title}\n\n{verdict.text()}")
