"""The page for users: how floe compares with what could be had instead, for each kind of record, and what a run costs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench import machine
from bench.formats.targets import WANTED
from bench.measurement import Measurement, Spread
from bench.size import Size
from bench.suites.costs import IDLE, PARSING
from bench.suites.side_by_side import BACKLOG, LARGE
from bench.suites.sizes import FEW
from bench.suites.sizes import NAME as SIZE
from bench.tables import table
from bench.targets import COLD, FLOOR, SINK, SPARK, WARM

RECORDS: Final = {
    BACKLOG: "JSON, flat",
    LARGE: "JSON, flat, 256 kB batches",
    "typed": "JSON, typed columns",
    "untidy": "JSON, untidy",
    "nested": "JSON, nested",
    "wide": "JSON, 100 fields",
    "partitioned": "JSON, partitioned table",
    "hundred tables": "JSON, hundred tables",
    "envelope": "JSON with schemas",
    "avro": "Avro",
    "protobuf": "Protobuf",
}
"""The scenarios in the order of the page, and what it calls them; the page says what they are."""

_SINK_OF: Final = {one.scenario: one.sink for one in WANTED if one.sink}


@dataclass(frozen=True)
class Figures:
    """All that was measured."""

    found: Sequence[Measurement]

    def of(self, scenario: str, system: str, figure: Callable[[Measurement], float]) -> list[float]:
        """Return a figure in each round."""
        return [figure(one) for one in self.found if (one.scenario, one.system) == (scenario, system)]

    def ratio(self, scenario: str, system: str, figure: Callable[[Measurement], float]) -> str:
        """Return how many times floe warm's figure a system has, with the least and the most of the rounds."""
        other = self.of(_SINK_OF.get(scenario, scenario) if system == SINK else scenario, system, figure)
        ours = self.of(scenario, WARM, figure)
        if not other or not ours:
            return "–"
        spread = Spread.of(a / b for a, b in zip(other, ours, strict=False))
        ratio = statistics.median(other) / statistics.median(ours)
        if system == FLOOR:
            return f"{ratio:.0%} ({spread.least:.0%}–{spread.most:.0%})"
        return f"{ratio:.1f} × ({spread.least:.1f}–{spread.most:.1f})"


def text(found: Sequence[Measurement], measured: Mapping[str, Any]) -> str:
    """Return what stands between the marks of the page."""
    figures = Figures(found)
    parts = [_how(measured), _records(figures), _costs(figures)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _how(measured: Mapping[str, Any]) -> str:
    details = measured["machine"]
    size = "" if measured["size"] == Size.FULL.value else f"{measured['size'].upper()} run: for a look only. "
    chosen = ("processor", "cores", "memory", "Kafka", "pyspark")
    on = machine.text({name: details[name] for name in chosen if name in details})
    return (
        f"{size}Measured on {measured['date']} by `{measured['command']}`, {measured['rounds']} rounds; broker and catalog "
        f"are on the same machine: {on}. In brackets: the least and the most of the rounds."
    )


def _records(figures: Figures) -> str:
    rows = []
    for scenario, what in RECORDS.items():
        speed = figures.of(scenario, WARM, lambda one: one.records / one.seconds / 1000)
        if speed:
            rows.append(
                [
                    what,
                    Spread.of(speed).text(0),
                    figures.ratio(scenario, SINK, _seconds),
                    figures.ratio(scenario, SINK, _cpu_seconds),
                    figures.ratio(scenario, SPARK, _seconds),
                    figures.ratio(scenario, FLOOR, _seconds),
                ]
            )
    head = [
        "records",
        "floe, thousand a second",
        "as fast as the sink",
        "the sink's CPU time by floe's",
        "as fast as Spark's Kafka source",
        "of the floor's speed",
    ]
    return table(head, rows) if rows else ""


def _costs(figures: Figures) -> str:
    rows = list(_cost_rows(figures))
    return "## What a run and a connector cost\n\n" + table(["what", "ms", "CPU ms"], rows) if rows else ""


def _cost_rows(figures: Figures) -> Iterator[list[str]]:
    for scenario, system, what in (
        (f"{SIZE} {FEW}", WARM, "a run of 10,000 records, Spark Connect: plan, write, commit"),
        (f"{SIZE} {1_000_000}", WARM, "a run of a million records, Spark Connect"),
        (BACKLOG, COLD, f"a run of the backlog, by `spark-submit`: {_count(figures, BACKLOG, COLD)} records"),
        (IDLE, WARM, "a run that finds nothing new: its plan; no Spark job is started"),
        (PARSING, "floe", "parsing the DAG files, for each connector"),
        ("10 k records, warm", "floe in Airflow", "in Airflow, from the trigger until 10,000 records are visible"),
        ("nothing new", "floe in Airflow", "in Airflow, a run that finds nothing new"),
    ):
        seconds = figures.of(scenario, system, lambda one: one.seconds)
        cpu = [one for one in figures.of(scenario, system, lambda one: one.cpu_seconds) if one]
        if seconds:
            yield [
                what,
                *(Spread.of(1000 * one for one in found).text(0) if found else "–" for found in (seconds, cpu)),
            ]


def _count(figures: Figures, scenario: str, system: str) -> str:
    found = figures.of(scenario, system, lambda one: one.records)
    return f"{max(found):,.0f}" if found else ""


def _seconds(one: Measurement) -> float:
    return one.seconds / one.records


def _cpu_seconds(one: Measurement) -> float:
    return one.cpu_seconds / one.records
