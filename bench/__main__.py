"""``make bench``: measure everything, write ``results.json`` and the tables and plots of ``docs/internals/benchmarks.md``.

``QUICK=1`` measures less of everything, for a first impression; ``TINY=1`` so little that it only shows that all suites run,
as ``make test`` does. ``AGAINST=<commit>`` compares with an older version,
and fails if this one is slower.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from bench import machine, report
from bench.measurement import Measurement
from bench.site import Site
from bench.size import Size
from bench.suites import (
    costs,
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
)
from bench.versions.compare import compare
from bench.versions.shapes import SHAPES
from stack.progress import say
from stack.settings import REPOSITORY, free_port

WITH_SITE: dict[str, Callable[[Site, int, Size], Iterator[Measurement]]] = {
    "side-by-side": side_by_side.measure,
    **{name: partial(formats.measure, name=name) for name in formats.NAMES},
    "json-schema": json_schema.measure,
    "untidy": untidy.measure,
    "transforms": transforms.measure,
    "sizes": sizes.measure,
    "costs": costs.measure,
    "latency": lambda site, _, size: latency.measure(site, size),
}
"""Suites that need a broker and a catalog, by name: measured in rounds."""

ALONE: dict[str, Callable[[Path, Size], Iterator[Measurement]]] = {
    "growth": growth.measure,
    "scale": scale.measure,
    "hostile": hostile.measure,
}
"""Suites that need a folder only."""

SUITES = (*WITH_SITE, *ALONE)

QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of JVMs that start soon and run slowly, where figures mean nothing."""


def main(argv: list[str]) -> int:
    """Run the requested suites, all by default."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}; all by default")
    sizes_help = "how much of everything: quick is for a first impression, tiny only shows that it runs"
    parser.add_argument("--size", choices=[one.value for one in Size], default=Size.FULL.value, help=sizes_help)
    rounds_help = "times that each system is measured (3; quick and tiny: 1), or pairs of versions (9, 2, 1)"
    parser.add_argument("--rounds", type=int, help=rounds_help)
    parser.add_argument("--out", type=Path, default=REPOSITORY / ".floe" / "bench", help="folder of the results")
    parser.add_argument(
        "--publish", action="store_true", help="put the results into docs/benchmarks.md and docs/internals"
    )
    parser.add_argument(
        "--against", metavar="COMMIT", help="compare with an older version, or with bench/baseline (baseline), instead"
    )
    parser.add_argument(
        "--shapes", nargs="*", default=(), metavar="SHAPE", help=f"with --against: of {', '.join(SHAPES)}"
    )
    asked = parser.parse_args(argv)
    size = Size(asked.size)
    unexpected = sorted(set(asked.suites) - set(SUITES))
    if unexpected:
        parser.error(f"there is no suite {unexpected}; choose of {', '.join(SUITES)}")
    unexpected = sorted(set(asked.shapes) - set(SHAPES))
    if unexpected:
        parser.error(f"there is no shape {unexpected}; choose of {', '.join(SHAPES)}")
    # else a signal would leave brokers behind
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if size is Size.TINY:
        os.environ["JAVA_TOOL_OPTIONS"] = QUICK_START
    asked.out.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="floe-bench-"))
    found: list[Measurement] = []
    try:
        if asked.against:
            return 0 if compare(folder, asked.against, asked.out, size, asked.rounds, asked.shapes) else 1
        rounds = asked.rounds or size.of(3, 1, 1)
        measured = {
            "date": datetime.now(UTC).date().isoformat(),
            "command": _command(asked.suites, size, asked.rounds),
            "rounds": rounds,
            "machine": machine.details(),
            "size": size.value,
        }
        for one in _measure(folder, asked.suites or SUITES, size, rounds):
            say(f"    {one.scenario}, {one.system}: {one.seconds:.2f} s, {one.cpu_seconds:.1f} CPU seconds")
            found.append(one)
            results = {**measured, "measurements": [m.to_json() for m in found]}
            (asked.out / "results.json").write_text(json.dumps(results, indent=1))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report.write(asked.out)
    if asked.publish:
        report.publish(asked.out, REPOSITORY / "docs")
    say(f"\n{(asked.out / 'results.md').read_text()}")
    return 0


def _command(suites: Sequence[str], size: Size, rounds: int | None) -> str:
    """Return the call of make that measures this."""
    words = ["make bench", *([] if size is Size.FULL else [f"{size.name}=1"])]
    words += [f"ROUNDS={rounds}"] if rounds else []
    return " ".join([*words, *([f'SUITES="{" ".join(suites)}"'] if suites else [])])


def _measure(folder: Path, suites: Sequence[str], size: Size, rounds: int) -> Iterator[Measurement]:
    of_site = [measure for name, measure in WITH_SITE.items() if name in suites]
    if of_site:
        with Site(folder, free_port(), free_port(), is_shared=size is Size.TINY) as site:
            for measure in of_site:
                yield from measure(site, rounds, size)
    for name, measure_alone in ALONE.items():
        if name in suites:
            yield from measure_alone(folder, size)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
