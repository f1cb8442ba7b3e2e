"""What a connector costs that does nothing: the parsing of its DAG, and a plan that finds nothing new."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bench.measurement import Measurement
from bench.records import PIZZA
from bench.scenario import Scenario
from bench.site import Site
from bench.size import Size
from bench.versions.side import CONNECTORS, Side
from stack.progress import step
from stack.settings import REPOSITORY

IDLE, PARSING = "a plan that finds nothing new", "the parsing of a connector"
RECORDS = 10_000


def measure(site: Site, rounds: int, size: Size) -> Iterator[Measurement]:
    """Measure each figure of one plan, and of one of many connectors."""
    plans, connectors = size.of((10, CONNECTORS), (5, CONNECTORS), (1, 5))
    scenario = Scenario(IDLE, PIZZA, "idle", RECORDS)
    site.fill(scenario)
    with Side(site, "new", REPOSITORY, connectors) as side:
        for number in range(rounds):
            with step(f"{IDLE}, round {number + 1}"):
                found = side.warm.idle(scenario, number, plans)
            yield _of_one(found)
            with step(f"{PARSING}, round {number + 1}"):
                found = side.parse(number)
            yield _of_one(replace(found, scenario=PARSING))


def _of_one(found: Measurement) -> Measurement:
    """Return the figure of one of those that were measured together."""
    count = found.records
    return replace(found, records=1, seconds=found.seconds / count, cpu_seconds=found.cpu_seconds / count)
