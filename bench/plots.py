"""Plots of the results, as SVG."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.measurement import Measurement
from bench.suites import sizes
from bench.summary import RECORDS
from bench.targets import COLD, FLOOR, SINK, SPARK, WARM

_COLOURS = {WARM: "#0b6e99", COLD: "#5fa8c4", SINK: "#c65d21", SPARK: "#8a6fb0", FLOOR: "#c3cacd"}
_NAMES = {
    WARM: "floe on Spark Connect",
    COLD: "floe by spark-submit",
    SINK: "Kafka Connect: Iceberg's sink",
    SPARK: "Spark: Kafka source, Iceberg's writer",
    FLOOR: "the least possible: read, decode, write",
}
_BAR = 0.16
"""Inches of a bar's height."""


def draw(found: Sequence[Measurement], folder: Path) -> None:
    """Draw what there is: throughput and CPU side by side, and how time grows with size."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "floe", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    compared = [m for m in found if m.scenario in RECORDS and m.system in _NAMES]
    if compared:
        speed, cost = "From Kafka into Iceberg: thousand records a second", "CPU seconds for a million records"
        _bars(compared, folder / "throughput.svg", f"{speed} (more is better)", lambda m: m.records / m.seconds / 1000)
        _bars(compared, folder / "cpu.svg", f"{cost} (less is better)", lambda m: m.cpu_seconds / m.records * 1e6)
    grown = [m for m in found if m.scenario.startswith(sizes.NAME)]
    if grown:
        _growth(grown, folder / "sizes.svg")
    curves = [m for m in found if "curve" in m.more]
    if curves:
        _curves(curves, folder / "growth.svg")


def _bars(found: Sequence[Measurement], file: Path, title: str, figure: Callable[[Measurement], float]) -> None:
    """Draw a group of bars for each scenario, each with its figure, and the range of its rounds as a line."""
    from matplotlib import pyplot

    measured = {(m.scenario, m.system) for m in found}
    labels, ticks, top, drawn = [], [], 0.0, set()
    rows = sum(any(s == scenario for s, _ in measured) for scenario in RECORDS) + len(measured)
    canvas, axes = pyplot.subplots(figsize=(9, 1.0 + _BAR * rows), layout="constrained")
    most = max(figure(m) for m in found)
    for scenario in RECORDS:
        systems = [system for system in _NAMES if (scenario, system) in measured]
        for i, system in enumerate(systems):
            values = [figure(m) for m in found if (m.scenario, m.system) == (scenario, system)]
            middle = statistics.median(values)
            errors = [[middle - min(values)], [max(values) - middle]]
            name = None if system in drawn else _NAMES[system]
            axes.barh(top + i, middle, 0.9, color=_COLOURS[system], label=name, xerr=errors, ecolor="#555555")
            axes.text(
                max(values) + most * 0.01, top + i, f"{middle:,.{0 if middle >= 10 else 1}f}", va="center", fontsize=7
            )
            drawn.add(system)
        if systems:
            labels.append(RECORDS[scenario])
            ticks.append(top + (len(systems) - 1) / 2)
            top += len(systems) + 1
    axes.set_yticks(ticks, labels)
    axes.set_ylim(top - 1, -1)
    axes.set_xlim(0, most * 1.1)
    legend = {"title": title, "title_fontsize": 11, "alignment": "left", "frameon": False, "fontsize": 8, "ncols": 3}
    canvas.legend(loc="outside upper left", **legend)
    canvas.savefig(file, metadata={"Date": None})
    pyplot.close(canvas)


def _growth(found: Sequence[Measurement], file: Path) -> None:
    from matplotlib import pyplot

    canvas, axes = pyplot.subplots(figsize=(5, 3.2), layout="constrained")
    counts = sorted({m.records for m in found})
    costs = [[m.seconds for m in found if m.records == count] for count in counts]
    middle = [statistics.median(one) for one in costs]
    below = [m - min(c) for m, c in zip(middle, costs, strict=True)]
    above = [max(c) - m for m, c in zip(middle, costs, strict=True)]
    axes.errorbar([c / 1e6 for c in counts], middle, yerr=[below, above], marker="o", color=_COLOURS[WARM], capsize=3)
    axes.set_title("One run of floe, by its records (flat JSON)", loc="left", fontsize=11)
    axes.set_xlabel("million records in one run")
    axes.set_ylabel("seconds until the last row is visible")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    canvas.savefig(file, metadata={"Date": None})
    pyplot.close(canvas)


def _curves(found: Sequence[Measurement], file: Path) -> None:
    """``more["curve"]``: pairs of a commit's number and its milliseconds."""
    from matplotlib import pyplot

    canvas, axes = pyplot.subplots(figsize=(7, 3.2), layout="constrained")
    for one in found:
        xs, ys = zip(*one.more["curve"], strict=True)
        axes.plot(xs, ys, label=one.scenario, linewidth=1)
    axes.set_title("What a commit takes as its table grows", loc="left", fontsize=11)
    axes.set_xlabel("commit of the table")
    axes.set_ylabel("milliseconds")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=8)
    canvas.savefig(file, metadata={"Date": None})
    pyplot.close(canvas)
