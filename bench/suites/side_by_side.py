"""The same topic and the same tables for every system, one after the other, in alternation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

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
from bench.topics import fill
from stack.progress import step

BACKLOG = "backlog"


def scenarios(size: Size) -> list[Scenario]:
    """The backlog that the figures are about, then other records and other layouts of tables."""
    most, few = size.of((5_000_000, 1_000_000), (1_000_000, 200_000), (2_000, 2_000))
    found = [
        Scenario(BACKLOG, PIZZA, "pizza", most),
        Scenario("partitioned", PIZZA, "pizza-some", few, "partitioned"),
        Scenario("nested", NESTED, "nested", few),
        Scenario("wide", WIDE, "wide", few),
        Scenario("hundred tables", ROUTED, "routed", few, "hundred"),
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
    with step(f"{scenario.records} records of shape {scenario.shape.name!r} in topic {scenario.topic!r}"):
        fill(site.bootstrap, scenario.topic, scenario.shape, scenario.records)
    for number in range(rounds):
        for system in systems:
            if not system.takes(scenario):
                continue
            with step(f"{scenario.name}, round {number + 1}: {system.name}"):
                found = system.measure(scenario, number)
            yield found
