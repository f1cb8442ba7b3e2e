"""Whether a version is as fast as an older one: medians, ranges and ratios of figures that were measured in turns."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.measurement import Measurement, Spread

LEAST_MEAN = 0.97


@dataclass(frozen=True)
class Compared:
    """One figure of a scenario, the more the better: of the ``old`` version and of the ``new`` one."""

    scenario: str
    figure: str
    old: Spread
    new: Spread

    @property
    def ratio(self) -> float:
        """The new median by the old one: above 1, the new version is faster."""
        return self.new.median / self.old.median

    @property
    def holds(self) -> bool:
        """Whether the new median is inside the old range, or above it."""
        return self.new.median >= self.old.least

    def row(self) -> list[str]:
        """Return the cells of a table."""
        texts = [self.old.text(), self.new.text(), f"{self.ratio:.3f}", "yes" if self.holds else "**no**"]
        return [self.scenario, self.figure, *texts]


@dataclass(frozen=True)
class Verdict:
    """All figures."""

    compared: Sequence[Compared]

    @property
    def mean(self) -> float:
        """The geometric mean of all ratios."""
        return statistics.geometric_mean(one.ratio for one in self.compared)

    @property
    def holds(self) -> bool:
        """Whether each new median is inside or above the old range, and the mean of all ratios is not below 0.97."""
        return all(one.holds for one in self.compared) and self.mean >= LEAST_MEAN

    def text(self) -> str:
        """Return a table in Markdown, with the mean and the verdict below it."""
        head = ["scenario", "records", "old (range)", "new (range)", "new / old", "in or above the old range"]
        rows = [head, ["---"] * len(head), *(one.row() for one in self.compared)]
        table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        mean = f"Geometric mean of new / old: {self.mean:.3f} (at least {LEAST_MEAN})."
        return f"{table}\n\n{mean} {'Not slower.' if self.holds else '**Slower.**'}\n"


def judge(measured: Mapping[str, Sequence[Measurement]]) -> Verdict:
    """Compare the measurements of ``old`` and ``new``. Raises ValueError where one has none of a scenario."""
    scenarios = dict.fromkeys(one.scenario for side in ("old", "new") for one in measured[side])
    compared = []
    for scenario in scenarios:
        old, new = ([m for m in measured[side] if m.scenario == scenario] for side in ("old", "new"))
        if not old or not new:
            msg = f"scenario {scenario!r} was measured {len(old)} times for the old version and {len(new)} for the new one"
            raise ValueError(msg)
        wall, cpu = (Compared(scenario, name, of(old), of(new)) for name, of in FIGURES.items())
        compared += [wall, cpu]
    return Verdict(compared)


def _per_second(measured: Sequence[Measurement]) -> Spread:
    return Spread.of(m.records / m.seconds / 1000 for m in measured)


def _per_cpu_second(measured: Sequence[Measurement]) -> Spread:
    return Spread.of(m.records / m.cpu_seconds / 1000 for m in measured)


FIGURES = {"thousand a second": _per_second, "thousand a CPU second": _per_cpu_second}
