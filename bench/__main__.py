"""``make bench``: measure everything, write ``results.json`` and the tables and plots of ``docs/internals/benchmarks.md``.

``QUICK=1`` measures less of everything, for a first impression. ``AGAINST=<commit>`` compares with an older version,
and fails if this one is slower.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench import machine, report
from bench.measurement import Measurement
from bench.site import Site
from bench.suites import growth, hostile, latency, scale, side_by_side, sizes, versions
from bench.systems.floe import Floe
from bench.systems.floor import Floor
from bench.systems.sink import Sink
from bench.systems.spark_source import SparkSource
from bench.systems.system import System
from stack.progress import say
from stack.settings import REPOSITORY, free_port

SUITES = ("side-by-side", "sizes", "latency", "growth", "scale", "hostile")


def main(argv: list[str]) -> int:
    """Run the requested suites, all by default."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="less of everything")
    parser.add_argument("--rounds", type=int, help="times that each system is measured (3; quick: 1)")
    parser.add_argument("--out", type=Path, default=REPOSITORY / ".floe" / "bench", help="folder of the results")
    parser.add_argument("--publish", action="store_true", help="put the results into docs/internals/benchmarks.md")
    parser.add_argument(
        "--against", metavar="COMMIT", help="compare with an older version instead, five rounds (quick: 2)"
    )
    asked = parser.parse_args(argv)
    unexpected = sorted(set(asked.suites) - set(SUITES))
    if unexpected:
        parser.error(f"there is no suite {unexpected}; choose of {', '.join(SUITES)}")
    # else a signal would leave brokers behind
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    asked.out.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="floe-bench-"))
    found: list[Measurement] = []
    try:
        if asked.against:
            return 0 if versions.compare(folder, asked.against, asked.out, asked.quick, asked.rounds) else 1
        for one in _measure(folder, asked.suites or SUITES, asked.quick, asked.rounds or (1 if asked.quick else 3)):
            say(f"    {one.scenario}, {one.system}: {one.seconds:.2f} s, {one.cpu_seconds:.1f} CPU seconds")
            found.append(one)
            results = {"machine": machine.details(), "quick": asked.quick, "measurements": [m.to_json() for m in found]}
            (asked.out / "results.json").write_text(json.dumps(results, indent=1))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report.write(asked.out)
    if asked.publish:
        report.publish(asked.out, REPOSITORY / "docs")
    say(f"\n{(asked.out / 'results.md').read_text()}")
    return 0


def _measure(folder: Path, suites: Sequence[str], quick: bool, rounds: int) -> Iterator[Measurement]:
    if {"side-by-side", "sizes", "latency"} & set(suites):
        with Site(folder, free_port(), free_port()) as site:
            if "side-by-side" in suites:
                systems: list[System] = [
                    Sink(site),
                    Floe(site, False),
                    Floe(site, True),
                    SparkSource(site),
                    Floor(site),
                ]
                with ExitStack() as warm:
                    for system in systems:
                        warm.enter_context(system.warm())
                    for scenario in side_by_side.scenarios(quick):
                        yield from side_by_side.compare(site, systems, scenario, rounds)
            if "sizes" in suites:
                yield from sizes.measure(site, rounds, quick)
            if "latency" in suites:
                yield from latency.measure(site, quick)
    if "growth" in suites:
        yield from growth.measure(folder, quick)
    if "scale" in suites:
        yield from scale.measure(folder, quick)
    if "hostile" in suites:
        yield from hostile.measure(folder, quick)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
