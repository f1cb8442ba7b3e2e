"""The same orders as JSON with a registered JSON Schema and as JSON without: what does the schema cost?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from bench.formats.encoded_orders import orders_in
from bench.formats.registry import FORMATS
from bench.formats.scenario import FormatScenario
from bench.measurement import Measurement
from bench.site import Site
from bench.size import Size
from bench.systems.floe import Floe
from stack.progress import step

NAMES = ("json", "json-schema")
RECORDS = (1_000_000, 100_000, 2_000)


def measure(site: Site, rounds: int, size: Size) -> Iterator[Measurement]:
    """Measure floe warm with both, in turns."""
    records = size.of(*RECORDS)
    floe = Floe(site, is_warm=True)
    with ExitStack() as stack:
        registry = stack.enter_context(site.registry())
        stack.enter_context(floe.warm())
        scenarios = []
        for name in NAMES:
            shape = orders_in(name, FORMATS[name].register(registry.url))
            scenarios.append(FormatScenario(name, shape, f"orders-{name}", records, format=name, registry=registry.url))
            site.fill(scenarios[-1])
        for number in range(rounds):
            for scenario in scenarios:
                with step(f"{scenario.name}, round {number + 1}: {floe.name}"):
                    found = floe.measure(scenario, number)
                yield found
