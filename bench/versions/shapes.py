"""What is compared between versions, by the names in ``bench/baseline``: records, layouts of tables, costs of any run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from bench.formats.encoded_orders import orders_in
from bench.formats.registry import FORMATS
from bench.formats.scenario import FormatScenario
from bench.measurement import Measurement
from bench.records import NESTED, PIZZA, ROUTED, UNTIDY, WIDE, Shape
from bench.scenario import Scenario
from bench.site import Site
from bench.size import Size
from bench.systems.floe import FIRST
from bench.topics import LARGE_BATCH
from bench.transforms.scenario import OF_TEXT, of_unwrapped, turns
from bench.versions.side import Side

FEW: Final = 10_000
RUNS: Final = 3
"""Of so few records: one alone takes half a second, of which a JVM's compiler may take a fifth."""

PLANS: Final = 5
Measure = Callable[[Side, int], Measurement]
"""Measure a side in a round."""


@dataclass
class Inputs:
    """The topics, and the registry of those that need one, which is up until ``stack`` ends."""

    site: Site
    size: Size
    stack: ExitStack

    def records(self, most: int) -> int:
        """Return how many records there are of ``most``."""
        return self.size.of(most, most // 50, 2_000)

    @cached_property
    def registry(self) -> str:
        """The address of a registry."""
        return self.stack.enter_context(self.site.registry()).url

    def prepare(self, name: str) -> Measure:
        """Fill the topic of a shape, and return how it is measured."""
        return SHAPES[name](self, name)


def _run(inputs: Inputs, scenario: Scenario) -> Measure:
    inputs.site.fill(scenario)
    return lambda side, number: side.warm.measure(scenario, number)


def _of_shape(shape: Shape, records: int, layout: str = "one", topic: str = "") -> Callable[[Inputs, str], Measure]:
    def prepare(inputs: Inputs, name: str) -> Measure:
        return _run(inputs, Scenario(name, shape, topic or name, inputs.records(records), layout))

    return prepare


def _large_batches(inputs: Inputs, name: str) -> Measure:
    return _run(inputs, Scenario(name, PIZZA, name, inputs.records(BACKLOG), batch=LARGE_BATCH))


def _of_format(format_: str, records: int) -> Callable[[Inputs, str], Measure]:
    def prepare(inputs: Inputs, name: str) -> Measure:
        registry = "" if FORMATS[format_].schema is None else inputs.registry
        shape = orders_in(format_, FORMATS[format_].register(registry))
        count = inputs.records(records)
        return _run(inputs, FormatScenario(name, shape, name, count, format=format_, registry=registry))

    return prepare


def _transformed(of: str, records: int) -> Callable[[Inputs, str], Measure]:
    def prepare(inputs: Inputs, name: str) -> Measure:
        every = (one for group in turns(inputs.records(records), inputs.registry) for one in group)
        return _run(inputs, replace(next(one for one in every if one.name == of), name=name))

    return prepare


def _few(inputs: Inputs, name: str) -> Scenario:
    scenario = Scenario(name, PIZZA, "few", inputs.size.of(FEW, FEW, 2_000) + FIRST)
    inputs.site.fill(scenario)
    return scenario


def _ten_thousand(inputs: Inputs, name: str) -> Measure:
    scenario = _few(inputs, name)

    def measure(side: Side, number: int) -> Measurement:
        found = [side.warm.measure(scenario, number) for _ in range(RUNS)]
        seconds, cpu = sum(one.seconds for one in found), sum(one.cpu_seconds for one in found)
        return replace(found[0], seconds=seconds, cpu_seconds=cpu, records=sum(one.records for one in found))

    return measure


def _cold(inputs: Inputs, name: str) -> Measure:
    scenario = _few(inputs, name)
    return lambda side, number: side.cold.measure(scenario, number)


def _idle(inputs: Inputs, name: str) -> Measure:
    scenario = _few(inputs, name)
    return lambda side, number: side.warm.idle(scenario, number, PLANS)


def _parsing(_: Inputs, __: str) -> Measure:
    return lambda side, number: side.parse(number)


BACKLOG: Final = 2_000_000
SHAPES: Final[Mapping[str, Callable[[Inputs, str], Measure]]] = {
    "backlog": _of_shape(PIZZA, BACKLOG),
    "backlog-256k": _large_batches,
    "ten-thousand": _ten_thousand,
    "hundred-tables": _of_shape(ROUTED, 300_000, "hundred"),
    "partitioned": _of_shape(PIZZA, BACKLOG, "partitioned", "backlog"),
    "nested": _of_shape(NESTED, 300_000),
    "wide": _of_shape(WIDE, 250_000),
    "untidy": _of_shape(UNTIDY, 1_000_000),
    "typed": _of_format("typed", 500_000),
    "envelope": _of_format("envelope", 300_000),
    "avro": _of_format("avro", 1_000_000),
    "protobuf": _of_format("protobuf", 1_000_000),
    "json-schema": _of_format("json-schema", 500_000),
    "transforms": _transformed(OF_TEXT, 500_000),
    "unwrapped": _transformed(of_unwrapped("avro"), 500_000),
    "cold": _cold,
    "idle": _idle,
    "parsing": _parsing,
}
"""``cold``: by spark-submit; ``idle``: a plan that finds nothing new; ``parsing``: the DAG files of 200 connectors."""
