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
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from bench import machine, report
from bench.measurement import Measurement
from bench.site import Site
from bench.suites import (
    formats,
    growth,
    hostile,
    json_schema,
    latency,
    scale,
    side_by_side,
    sizes,
    transforms,
    untidy,
    versions,
)
from stack.progress import say
from stack.settings import REPOSITORY, free_port

WITH_SITE: dict[str, Callable[[Site, int, bool], Iterator[Measurement]]] = {
    "side-by-side": side_by_side.measure,
    **{name: partial(formats.measure, name=name) for name in formats.NAMES},
    "json-schema": json_schema.measure,
    "untidy": untidy.measure,
    "transforms": transforms.measure,
    "sizes": sizes.measure,
    "latency": lambda site, _, quick: latency.measure(site, quick),
}
"""Suites that need a broker and a catalog, by name: measured in rounds, or quickly."""

ALONE: dict[str, Callable[[Path, bool], Iterator[Measurement]]] = {
    "growth": growth.measure,
    "scale": scale.measure,
    "hostile": hostile.measure,
}
"""Suites that need a folder only."""

SUITES = (*WITH_SITE, *ALONE)


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
    of_site = [measure for name, measure in WITH_SITE.items() if name in suites]
    if of_site:
        with Site(folder, free_port(), free_port()) as site:
            for measure in of_site:
                yield from measure(site, rounds, quick)
    for name, measure_alone in ALONE.items():
        if name in suites:
            yield from measure_alone(folder, quick)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
