"""What every system does."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from bench.measurement import Measurement
from bench.scenario import Scenario


class System(Protocol):
    """One way from a topic to tables. Within ``warm``, everything that keeps running between two runs is started."""

    @property
    def name(self) -> str:
        """The system's name in the report."""

    def warm(self) -> AbstractContextManager[object]:
        """Start what a user leaves running."""

    def takes(self, scenario: Scenario) -> bool:
        """Return whether the system supports the scenario."""

    def measure(self, scenario: Scenario, number: int) -> Measurement:
        """Do the work once, from its start until the last row is visible."""
