"""Plots of the results, as SVG."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.measurement import Measurement
from bench.suites import sizes

_COLOURS = {"floe warm": "#0b6e99", "floe cold": "#5fa8c4", "floor": "#9aa5ab"}
_OTHERS = ("#c65d21", "#8a6fb0", "#7a8b3a")


def draw(found: Sequence[Measurement], folder: Path) -> None:
    """Draw what there is: throughput and CPU side by side, and how time grows with size."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "floe", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    compared = [m for m in found if m.cpu_seconds and not m.scenario.startswith(sizes.NAME)]
    if compared:
        _bars(
            compared, folder / "throughput.svg", "thousand records per second", lambda m: m.records / m.seconds / 1000
        )
        _bars(
            compared, folder / "cpu.svg", "CPU seconds per million records", lambda m: m.cpu_seconds / m.records * 1e6
        )
    grown = [m for m in found if m.scenario.startswith(sizes.NAME)]
    if grown:
        _growth(grown, folder / "sizes.svg")
    curves = [m for m in found if "curve" in m.more]
    if curves:
        _curves(curves, folder / "growth.svg")


def _bars(found: Sequence[Measurement], file: Path, label: str, figure: Any) -> None:
    from matplotlib import pyplot

    scenarios = list(dict.fromkeys(m.scenario for m in found))
    systems = list(dict.fromkeys(m.system for m in found))
    others = iter(_OTHERS)
    canvas, axes = pyplot.subplots(figsize=(9, 3.6), layout="constrained")
    width = 0.8 / len(systems)
    for i, system in enumerate(systems):
        places, heights, errors = [], [], []
        for place, scenario in enumerate(scenarios):
            figures = [figure(m) for m in found if (m.scenario, m.system) == (scenario, system)]
            if figures:
                middle = statistics.median(figures)
                places.append(place + (i - (len(systems) - 1) / 2) * width)
                heights.append(middle)
                errors.append((middle - min(figures), max(figures) - middle))
        colour = _COLOURS.get(system) or next(others, "#444444")
        axes.bar(
            places,
            heights,
            width * 0.92,
            color=colour,
            label=system,
            yerr=list(zip(*errors, strict=True)),
            ecolor="#555555",
        )
    axes.set_xticks(range(len(scenarios)), scenarios)
    axes.set_ylabel(label)
    axes.legend(frameon=False, fontsize=8)
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
    axes.errorbar(
        [c / 1e6 for c in counts], middle, yerr=[below, above], marker="o", color=_COLOURS["floe warm"], capsize=3
    )
    axes.set_xlabel("million records in one run")
    axes.set_ylabel("seconds")
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
    axes.set_xlabel("commit of the table")
    axes.set_ylabel("ms")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=8)
    canvas.savefig(file, metadata={"Date": None})
    pyplot.close(canvas)
