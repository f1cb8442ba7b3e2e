"""The results as Markdown: ratios first, then every figure with its spread."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import machine, plots, summary, targets
from bench.measurement import Measurement, Spread
from bench.size import Size
from bench.suites import hostile
from bench.tables import table

BEGIN, END = "<!-- results: made by make bench -->", "<!-- end of results -->"


def write(folder: Path) -> None:
    """Write ``results.md``, ``summary.md`` and the plots beside ``results.json``."""
    results = json.loads((folder / "results.json").read_text())
    found = [Measurement(**fields) for fields in results["measurements"]]
    parts = [
        _measured(results),
        _targets(targets.check_targets(found)),
        _side_by_side(found),
        _parts(found),
        _hostile(found),
    ]
    (folder / "results.md").write_text("\n\n".join(part for part in parts if part) + "\n")
    (folder / "summary.md").write_text(summary.text(found, results))
    plots.draw(found, folder)


def publish(folder: Path, docs: Path) -> None:
    """Put the results into two pages, between the marks of each, and the plots into ``images/bench``.

    ``benchmarks.md`` has what users ask, ``internals/benchmarks.md`` every figure.
    """
    pages = {docs / "benchmarks.md": "summary.md", docs / "internals" / "benchmarks.md": "results.md"}
    texts = {page: _between_marks(page, (folder / name).read_text()) for page, name in pages.items()}
    for page, text in texts.items():
        page.write_text(text)
    images = docs / "images" / "bench"
    images.mkdir(parents=True, exist_ok=True)
    for plot in folder.glob("*.svg"):
        (images / plot.name).write_bytes(plot.read_bytes())


def _between_marks(page: Path, results: str) -> str:
    before, _, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        msg = f"{page} has no marks {BEGIN!r} and {END!r} to put the results between"
        raise ValueError(msg)
    return f"{before}{BEGIN}\n\n{results}\n{END}{after}"


def _measured(results: dict[str, Any]) -> str:
    size = Size(results["size"])
    note = "" if size is Size.FULL else f"{size.value.upper()} run: for a look only. "
    return f"{note}Measured on {results['date']} by `{results['command']}` on: {machine.text(results['machine'])}."


def _targets(checks: Sequence[targets.TargetCheck]) -> str:
    rows = [[one.what, one.wanted, one.text, "yes" if one.holds else "**no**"] for one in checks]
    return "## What was asked\n\n" + table(["what", "at least", "measured", "holds"], rows) if rows else ""


def _side_by_side(found: Sequence[Measurement]) -> str:
    """All systems that did the same, per scenario."""
    compared = [m for m in found if m.cpu_seconds]
    blocks = []
    for scenario in dict.fromkeys(m.scenario for m in compared):
        here = [m for m in compared if m.scenario == scenario]
        rows = []
        for system in dict.fromkeys(m.system for m in here):
            own = [m for m in here if m.system == system]
            seconds, cpu = Spread.of(m.seconds for m in own), Spread.of(m.cpu_seconds / m.records * 1e6 for m in own)
            worker = max(m.worker_mb for m in own)
            rows.append(
                [
                    system,
                    seconds.text(),
                    f"{own[0].records / seconds.median / 1000:.0f} k/s",
                    cpu.text(),
                    f"{max(m.resident_mb for m in own):.0f}",
                    f"{worker:.0f}" if worker else "",
                ]
            )
        head = ["system", "seconds", "records", "CPU s per million", "MB, all processes", "MB, a Python worker"]
        blocks.append(f"### {scenario}: {here[0].records} records, {len(own)} round(s)\n\n{table(head, rows)}")
    return "## Side by side\n\n" + "\n\n".join(blocks) if blocks else ""


def _parts(found: Sequence[Measurement]) -> str:
    """The parts of a figure, where a system reported them."""
    rows = []
    for scenario, system in dict.fromkeys((m.scenario, m.system) for m in found if m.more):
        own = [m for m in found if (m.scenario, m.system) == (scenario, system)]
        names = dict.fromkeys(name for m in own for name in m.more if name.endswith("_seconds"))
        message = []
        for name in names:
            spread = Spread.of(m.more[name] for m in own if name in m.more)
            message.append(f"{name.removesuffix('_seconds').replace('_', ' ')} {spread.median:.2f}")
        if message:
            rows.append([scenario, system, Spread.of(m.seconds for m in own).text(2), ", ".join(message)])
    return "## What the figures are made of\n\n" + table(["scenario", "system", "s", "parts, s"], rows) if rows else ""


def _hostile(found: Sequence[Measurement]) -> str:
    """What hostile records cost per byte, and as a multiple of orders: median, minimum and maximum of the turns."""
    rows = []
    for one in (m for m in found if m.scenario.startswith(hostile.NAME)):
        message, ratio = one.more, float(one.more["ratio"])
        least, most = message["ratios"][0], message["ratios"][-1]
        rows.append(
            [
                one.scenario.removeprefix(hostile.NAME),
                f"{message['rows']}",
                f"{message['dead']}",
                f"{message['ns_per_byte']:.0f}",
                f"{ratio:.1f} × ({least:.1f}–{most:.1f})",
                "yes" if ratio <= hostile.MAX else "**no**",
            ]
        )
    head = ["records", "rows", "dead letters", "CPU ns per byte", "of an order's", f"≤ {hostile.MAX:g} ×"]
    return f"## Records made to be dear\n\n{table(head, rows)}" if rows else ""
