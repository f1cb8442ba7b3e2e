"""What a commit costs as its table grows: after 2,000 commits, and with 1,440 snapshots retained.

Both are compared with a young table, in turns within one process, as ratios of medians: other load on the machine slows
both down. Commits use ``floe.commit.table_commit.commit_table`` with a SQLite catalog, each from a newly opened client.
Writing the data file and reading the ledger before it are not measured. Young tables of the first comparison are at their
20th commit.
"""

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.lake import GrowthLake
from bench.measurement import Measurement
from bench.size import Size
from stack.progress import step

YOUNG, RETAINED = 20, 1_440
UNLIMITED = {"floe.expire.max-snapshots": "0"}
SYSTEM = "floe, SQL catalog"


def measure(folder: Path, size: Size) -> Iterator[Measurement]:
    """Make both comparisons."""
    lake = GrowthLake.open(folder / "growth")
    at, turns = size.of((2_000, 41), (400, 11), (30, 3))
    with step(f"{at} commits to one table"):
        found = commits(lake, at, turns)
    yield _measurement(f"{at}th commit of a table vs its {YOUNG}th", found)
    with step(f"commits to a table that retains {RETAINED} snapshots"):
        found = retained(lake, turns)
    yield _measurement(f"commit of a table with {RETAINED} snapshots vs one with {YOUNG}", found)


def _measurement(scenario: str, found: dict[str, Any]) -> Measurement:
    return Measurement(scenario, SYSTEM, 0, 0, found["old_ms"][0] / 1000, 0.0, more=found)


def commits(lake: GrowthLake, at: int, turns: int) -> dict[str, Any]:
    """Compare the commits about the ``at``-th of a table, as floe creates it, with the 20th of others."""
    young = [f"growth.young_{i}" for i in range(turns)]
    for name in (*young, "growth.old"):
        lake.create(name)
    curve = [(i + 1, lake.commit("growth.old") * 1000) for i in range(at - turns // 2 - 1)]
    for name in young:
        for _ in range(YOUNG - 1):
            lake.commit(name)
    times: dict[str, list[float]] = {"young": [], "old": []}
    for name in young:
        times["young"].append(lake.commit(name))
        times["old"].append(lake.commit("growth.old"))
    snapshots = lake.snapshots("growth.old")
    return {"snapshots": snapshots, "curve": curve, **_compared(times["young"], times["old"], 1.5)}


def retained(lake: GrowthLake, turns: int) -> dict[str, Any]:
    """Compare a table that retains 1,440 snapshots with one that retains 20."""
    names = {n: f"growth.retains_{n}" for n in (YOUNG, RETAINED)}
    times: dict[int, list[float]] = {n: [] for n in names}
    for n, name in names.items():
        lake.create(name, UNLIMITED)
        for _ in range(5):
            lake.commit(name)
        lake.age(name, n - turns // 2)
    for _ in range(turns):
        for n, name in names.items():
            times[n].append(lake.commit(name))
    return {"snapshots": RETAINED, **_compared(times[YOUNG], times[RETAINED], 4.0)}


def _compared(young: Sequence[float], old: Sequence[float], limit: float) -> dict[str, Any]:
    ratio = statistics.median(old) / statistics.median(young)
    return {"young_ms": _spread(young), "old_ms": _spread(old), "value": ratio, "most": limit, "unit": "×"}


def _spread(times: Sequence[float]) -> list[float]:
    """Return median, lowest and highest in ms."""
    return [round(one * 1000, 1) for one in (statistics.median(times), min(times), max(times))]
