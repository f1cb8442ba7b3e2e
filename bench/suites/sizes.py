"""Does a record cost the same in a run of one million as in a run of eight?

What every run costs, whatever it reads, is measured too, by runs of so few records that they cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bench.measurement import Measurement
from bench.records import PIZZA
from bench.scenario import Scenario
from bench.site import Site
from bench.size import Size
from bench.systems.floe import FIRST, Floe
from stack.progress import step

NAME = "size"
FEW = 10_000
"""The size of a run that takes the minimum time of any run."""


def measure(site: Site, rounds: int, size: Size) -> Iterator[Measurement]:
    """Run floe warm over 1, 2, 4 and 8 million records of one topic, in alternation."""
    larger = size.of([1_000_000, 2_000_000, 4_000_000, 8_000_000], [500_000, 1_000_000], [FEW + 2_000])
    sizes = [FEW, *larger]
    whole = Scenario(NAME, PIZZA, "sizes", sizes[-1] + FIRST)
    site.fill(whole)
    floe = Floe(site, is_warm=True)
    with floe.warm():
        for number in range(rounds):
            for records in sizes:
                with step(f"{records} records, round {number + 1}"):
                    found = floe.measure(replace(whole, name=f"{NAME} {records}"), number, records)
                yield found
