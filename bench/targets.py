"""The figures that floe has to reach, and whether the measurements reach them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.formats import targets as format_targets
from bench.measurement import Measurement
from bench.suites import hostile, sizes
from bench.suites.side_by_side import BACKLOG
from bench.transforms import targets as transform_targets

SINK, WARM, COLD, FLOOR = "Kafka Connect sink", "floe warm", "floe cold", "floor"
SPARK = "Spark Kafka source (stream)"


@dataclass(frozen=True)
class TargetCheck:
    """One figure: the target and the measured value."""

    what: str
    wanted: str
    text: str
    holds: bool


def check_targets(found: Sequence[Measurement]) -> list[TargetCheck]:
    """Compare the measurements with the targets; what was not measured is left out."""
    return [
        *_ratios(found),
        *_formats(found),
        *_transforms(found),
        *_latency(found),
        *_sizes(found),
        *_fixed_limits(found),
        *_hostile(found),
        *_memory(found),
    ]


def _ratios(found: Sequence[Measurement]) -> Iterator[TargetCheck]:
    def seconds(system: str) -> list[float]:
        return [m.seconds for m in found if (m.scenario, m.system) == (BACKLOG, system)]

    warm, cold, spark, floor = seconds(WARM), seconds(COLD), seconds(SPARK), seconds(FLOOR)
    cpu = [m.cpu_seconds for m in found if (m.scenario, m.system) == (BACKLOG, WARM)]
    sink = [m for m in found if (m.scenario, m.system) == (BACKLOG, SINK)]
    if sink and warm:
        yield _ratio("last row of the backlog, floe warm vs sink", 6, [m.seconds for m in sink], warm)
        yield _ratio("CPU seconds per row, sink / floe warm", 4, [m.cpu_seconds for m in sink], cpu)
    if sink and cold:
        of_sink = [float(m.more["cold_seconds"]) for m in sink]
        yield _ratio("last row, floe cold vs sink, JVM starts included", 3, of_sink, cold)
    if spark and warm:
        yield _ratio("floe warm vs Spark's Kafka source and Iceberg's writer", 2, spark, warm)
    if floor and warm:
        table_files = statistics.median(floor) / statistics.median(warm)
        yield TargetCheck("floe warm vs the floor", "75 %", f"{table_files:.0%}", table_files >= 0.75)


def _ratio(what: str, wanted: float, of_sink: Sequence[float], ours: Sequence[float]) -> TargetCheck:
    pairs = sorted(a / b for a, b in zip(of_sink, ours, strict=False))
    ratio = statistics.median(of_sink) / statistics.median(ours)
    return TargetCheck(what, f"{wanted:g} ×", f"{ratio:.1f} × ({pairs[0]:.1f}–{pairs[-1]:.1f})", ratio >= wanted)


def _formats(found: Sequence[Measurement]) -> Iterator[TargetCheck]:
    for one in format_targets.ratios(found):
        yield TargetCheck(one.what, *one.texts, one.value >= one.wanted)


def _transforms(found: Sequence[Measurement]) -> Iterator[TargetCheck]:
    for one in transform_targets.checks(found):
        yield TargetCheck(one.what, one.wanted, one.text, one.holds)


def _latency(found: Sequence[Measurement]) -> Iterator[TargetCheck]:
    for scenario, median, most in (
        ("10 k records, warm", 4.0, 6.0),
        ("10 k records, cold", 12.0, None),
        ("nothing new", 1.5, None),
    ):
        figures = sorted(m.seconds for m in found if m.scenario == scenario)
        if not figures:
            continue
        p50, p95 = statistics.median(figures), figures[min(len(figures) - 1, round(0.95 * len(figures)))]
        wanted = f"p50 ≤ {median:g} s" + (f", p95 ≤ {most:g} s" if most else "")
        holds = p50 <= median and (most is None or p95 <= most)
        yield TargetCheck(f"Airflow: {scenario}", wanted, f"p50 {p50:.1f} s, p95 {p95:.1f} s", holds)


def _sizes(found: Sequence[Measurement]) -> Iterator[TargetCheck]:
    """Check the cost of a record by size of run; also reported: without the fixed cost, which the smallest run measures."""
    medians = {
        records: statistics.median(m.seconds for m in found if m.scenario == f"{sizes.NAME} {records}")
        for records in sorted({m.records for m in found if m.scenario.startswith(sizes.NAME)})
    }
    if len(medians) > 1:
        few, least = next(iter(medians.items()))
        whole, beyond = (
            [1e6 * (seconds - base) / (records - less) for records, seconds in medians.items() if records > few]
            for base, less in ((0.0, 0), (least, few))
        )
        text = ", ".join(f"{cost:.2f}" for cost in whole)
        message = f"± {_spread(whole):.0%} ({text} µs); beyond the {least:.1f} s of any run ± {_spread(beyond):.0%}"
        yield TargetCheck("time per record, by size of the run", "± 15 %", message, _spread(whole) <= 0.15)


def _spread(costs: Sequence[float]) -> float:
    """Return how far the ends are from the middle between them, as a fraction of it."""
    return (max(costs) - min(costs)) / (max(costs) + min(costs))


def _fixed_limits(found: Sequence[Measurement]) -> Iterator[TargetCheck]:
    """Figures of suites that contain their own targets: ``more`` has ``value``, ``most`` and ``unit``."""
    for scenario in dict.fromkeys(m.scenario for m in found if "most" in m.more):
        own = [m for m in found if m.scenario == scenario]
        value = statistics.median(float(m.more["value"]) for m in own)
        most, unit = float(own[0].more["most"]), own[0].more["unit"]
        yield TargetCheck(scenario, f"≤ {most:g} {unit}", f"{value:.2f} {unit}", value <= most)


def _hostile(found: Sequence[Measurement]) -> Iterator[TargetCheck]:
    """Check the most expensive of the hostile records."""
    ratios = {m.scenario: float(m.more["ratio"]) for m in found if m.scenario.startswith(hostile.NAME)}
    if ratios:
        worst = max(ratios, key=ratios.__getitem__)
        within = sum(ratio <= hostile.MAX for ratio in ratios.values())
        text = f"{ratios[worst]:.1f} × ({worst.removeprefix(hostile.NAME)}); {within} of {len(ratios)} kinds hold"
        holds = within == len(ratios)
        yield TargetCheck("hostile records vs orders, CPU per byte", f"≤ {hostile.MAX:g} ×", text, holds)


def _memory(found: Sequence[Measurement]) -> Iterator[TargetCheck]:
    workers = [m.worker_mb for m in found if m.worker_mb]
    if workers:
        most = max(workers)
        yield TargetCheck("peak memory of a Python worker", "≤ 512 MB", f"{most:.0f} MB", most <= 512)
