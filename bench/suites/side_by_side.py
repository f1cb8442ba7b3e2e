"""The same topic and the same tables for every system, one after the other, in alternation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

from bench.formats.encoded_orders import orders_in
from bench.formats.scenario import FormatScenario
from bench.measurement import Measurement
from bench.records import NESTED, PIZZA, ROUTED, WIDE
from bench.scenario import Scenario
from bench.site import Site
from bench.size import Size
from bench.systems.floe import Floe
from bench.systems.floor import Floor
from bench.systems.sink import Sink
from bench.systems.spark_source import SparkSource
from bench.systems.system import System
from bench.topics import LARGE_BATCH
from stack.progress import step

BACKLOG, LARGE, TYPED = "backlog", "backlog, 256 kB batches", "typed"


def scenarios(size: Size) -> list[Scenario]:
    """The backlog that the figures are about, then other records and other layouts of tables."""
    most, few = size.of((5_000_000, 1_000_000), (1_000_000, 200_000), (2_000, 2_000))
    larger = few // 2
    found = [
        Scenario(BACKLOG, PIZZA, "pizza", most),
        Scenario(LARGE, PIZZA, "pizza-large", most, batch=LARGE_BATCH),
        FormatScenario(TYPED, orders_in(TYPED), TYPED, few, format=TYPED),
        Scenario("partitioned", PIZZA, "pizza-some", few, "partitioned"),
        Scenario("nested", NESTED, "nested", larger),
        Scenario("wide", WIDE, "wide", larger),
        Scenario("hundred tables", ROUTED, "routed", larger, "hundred"),
    ]
    return found if size is Size.FULL else found[:1]


def measure(site: Site, rounds: int, size: Size) -> Iterator[Measurement]:
    """Measure all systems."""
    systems: list[System] = [Sink(site), Floe(site, False), Floe(site, True), SparkSource(site), Floor(site)]
    with ExitStack() as warm:
        for system in systems:
            warm.enter_context(system.warm())
        for scenario in scenarios(size):
            yield from compare(site, systems, scenario, rounds)


def compare(site: Site, systems: Sequence[System], scenario: Scenario, rounds: int) -> Iterator[Measurement]:
    """Measure each system once per round. All are up, one works."""
    batch_bytes = site.fill(scenario).batch_bytes
    for number in range(rounds):
        for system in systems:
            if not system.takes(scenario) or not _says_more(system, scenario):
                continue
            with step(f"{scenario.name}, round {number + 1}: {system.name}"):
                found = system.measure(scenario, number)
            yield replace(found, more={**found.more, "batch_bytes": batch_bytes})


def _says_more(system: System, scenario: Scenario) -> bool:
    """Return whether a figure says anything new.

    A cold run differs from a warm one by as much, whatever is read; large batches are for floe and the sink.
    """
    if scenario.name == LARGE:
        return isinstance(system, Sink) or (isinstance(system, Floe) and system.is_warm)
    return scenario.name == BACKLOG or not isinstance(system, Floe) or system.is_warm
