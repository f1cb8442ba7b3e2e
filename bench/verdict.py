"""Whether a version is as fast as an older one, by pairs of measurements that were taken one right after the other.

The ratio of a pair is old / new of what a record cost: above 1, the new version is faster.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bench.measurement import Measurement, Spread

LEAST_MEAN: Final = 1.00
Pair = tuple[Measurement, Measurement]
"""Of the old version and of the new one, in one round."""


@dataclass(frozen=True)
class Limits:
    """The least medians of the paired ratios of a shape. ``is_aim``: more is asked than not to be slower."""

    wall: float = 0.95
    cpu: float = 0.98
    is_aim: bool = False

    @classmethod
    def of_factor(cls, most: float) -> Limits:
        """Ask for seconds that are at most this part of the old version's."""
        return cls(wall=1 / most, is_aim=True)


PLAIN: Final = Limits()


@dataclass(frozen=True)
class ShapeVerdict:
    """One shape beside a commit."""

    shape: str
    commit: str
    pairs: Sequence[Pair]
    limits: Limits = PLAIN

    @property
    def wall(self) -> Spread:
        """The ratios of wall time."""
        return self._ratios(_seconds)

    @property
    def cpu(self) -> Spread:
        """The ratios of CPU time, of all processes."""
        return self._ratios(_cpu_seconds)

    @property
    def holds(self) -> bool:
        """Whether the medians of both are at least what is asked."""
        return self.wall.median >= self.limits.wall and self.cpu.median >= self.limits.cpu

    def row(self) -> list[str]:
        """Return the cells of a table."""
        cells = [self.shape, self.commit[:8], str(len(self.pairs))]
        for figure, ratios, least in (
            (_seconds, self.wall, self.limits.wall),
            (_cpu_seconds, self.cpu, self.limits.cpu),
        ):
            old, new = (statistics.median(figure(pair[i]) * pair[i].records for pair in self.pairs) for i in (0, 1))
            cells += [f"{old:.2f}", f"{new:.2f}", ratios.text(3), f"{least:.2f}"]
        return [*cells, "yes" if self.holds else "**no**"]

    def _ratios(self, figure: Callable[[Measurement], float]) -> Spread:
        return Spread.of(figure(old) / figure(new) for old, new in self.pairs)


@dataclass(frozen=True)
class Verdict:
    """All shapes."""

    shapes: Sequence[ShapeVerdict]

    @property
    def means(self) -> tuple[float, float]:
        """The geometric means of the medians, of wall and of CPU time; shapes with an aim of their own do not count."""
        counted = [one for one in self.shapes if not one.limits.is_aim]
        if not counted:
            return 1.0, 1.0
        wall, cpu = (
            [ratios.median for ratios in found] for found in zip(*((o.wall, o.cpu) for o in counted), strict=True)
        )
        return statistics.geometric_mean(wall), statistics.geometric_mean(cpu)

    @property
    def holds(self) -> bool:
        """Whether each shape holds, and neither mean is below 1."""
        return all(one.holds for one in self.shapes) and min(self.means) >= LEAST_MEAN

    def text(self) -> str:
        """Return a table in Markdown, with the means and the verdict below it."""
        figures = [
            f"{figure} {what}" for figure in ("wall", "CPU") for what in ("s, old", "s, new", "old / new (range)", "≥")
        ]
        head = ["shape", "commit", "rounds", *figures, "holds"]
        rows = [head, ["---"] * len(head), *(one.row() for one in self.shapes)]
        table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        wall, cpu = self.means
        mean = (
            f"Geometric mean of old / new: {wall:.3f} in wall time, {cpu:.3f} in CPU time (at least {LEAST_MEAN:.2f})."
        )
        return f"{table}\n\n{mean} {'It holds.' if self.holds else '**It does not hold.**'}\n"


def _seconds(one: Measurement) -> float:
    return one.seconds / one.records


def _cpu_seconds(one: Measurement) -> float:
    return one.cpu_seconds / one.records
