"""What transforms cost: floe warm with a chain beside floe warm without, in turns over the same topic.

Rows as JSON without schemas, also beside the sink with the same chain; Debezium's change events, as they are and unwrapped,
beside flat rows of the same format; records with headers of which a filter leaves half.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

from bench.measurement import Measurement
from bench.site import Site
from bench.size import Size
from bench.systems.floe import Floe
from bench.systems.sink import Sink
from bench.systems.system import System
from bench.transforms.scenario import OF_TEXT, turns
from stack.progress import step

RECORDS = (1_000_000, 100_000, 2_000)


def measure(site: Site, rounds: int, size: Size) -> Iterator[Measurement]:
    """Measure each group of scenarios in turns; ``more`` of each figure has the bytes of the values that were read."""
    floe, sink = Floe(site, is_warm=True), Sink(site)
    with ExitStack() as stack:
        registry = stack.enter_context(site.registry())
        stack.enter_context(floe.warm())
        for group in turns(size.of(*RECORDS), registry.url):
            # where figures mean nothing, the second of each group alone, which has a chain
            scenarios = group[1:2] if size is Size.TINY else group
            nbytes = {scenario.topic: site.fill(scenario).value_bytes for scenario in scenarios}
            for number in range(rounds):
                for scenario in scenarios:
                    systems: list[System] = [sink, floe] if scenario.name == OF_TEXT else [floe]
                    for system in systems:
                        with step(f"{scenario.name}, round {number + 1}: {system.name}"):
                            found = system.measure(scenario, number)
                        yield replace(found, more={**found.more, "bytes": nbytes[scenario.topic]})
