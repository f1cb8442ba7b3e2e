"""One figure: the cost of one run of a scenario by a system."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Measurement:
    """``seconds`` of wall time and ``cpu_seconds`` of all processes but the broker, for ``records``.

    ``more``: figures of that system alone, such as the seconds that its JVM took to start.
    """

    scenario: str
    system: str
    round: int
    records: int
    seconds: float
    cpu_seconds: float
    resident_mb: float = 0.0
    worker_mb: float = 0.0
    more: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Spread:
    """Median, minimum and maximum of some figures."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, figures: Iterable[float]) -> Spread:
        """Summarise figures. Raises statistics.StatisticsError when there is none."""
        found = sorted(figures)
        return cls(statistics.median(found), found[0], found[-1])

    def text(self, digits: int = 1) -> str:
        """Return ``median (least-most)``."""
        return f"{self.median:.{digits}f} ({self.least:.{digits}f}–{self.most:.{digits}f})"
