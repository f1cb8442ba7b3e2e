"""Orders in formats with schemas: floe warm beside the sink with the same converter, and beside the floor.

The floor here is: consume, floe's decoder of the format, Parquet, in plain processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from bench.formats.encoded_orders import orders_in
from bench.formats.registry import FORMATS
from bench.formats.scenario import FormatScenario
from bench.measurement import Measurement
from bench.site import Site
from bench.size import Size
from bench.suites.side_by_side import compare
from bench.systems.floe import Floe
from bench.systems.format_floor import FormatFloor
from bench.systems.sink import CONVERTERS, Sink
from bench.systems.system import System

NAMES = ("avro", "protobuf", "envelope")
RECORDS = (2_000_000, 100_000, 2_000)
LARGE = {"envelope": 8}
"""Formats whose records are larger, by how much: there are as many fewer."""


def measure(site: Site, rounds: int, size: Size, name: str) -> Iterator[Measurement]:
    """Measure the systems with one format, with a registry that is up for that long."""
    sinks = [Sink(site, converters=CONVERTERS)] if FORMATS[name].has_sink else []
    systems: list[System] = [*sinks, Floe(site, is_warm=True), FormatFloor(site)]
    with ExitStack() as stack:
        registry = stack.enter_context(site.registry())
        for system in systems:
            stack.enter_context(system.warm())
        shape = orders_in(name, FORMATS[name].register(registry.url))
        records = size.of(*RECORDS) // LARGE.get(name, 1)
        scenario = FormatScenario(name, shape, f"orders-{name}", records, format=name, registry=registry.url)
        yield from compare(site, systems, scenario, rounds)
