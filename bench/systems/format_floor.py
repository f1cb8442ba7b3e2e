"""The floor of a format with schemas: consume, floe's decoder of the format, and Parquet, without anything between them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.formats.registry import FORMATS
from bench.formats.scenario import FormatScenario
from bench.scenario import Scenario
from bench.systems.floor import Floor
from stack.settings import REPOSITORY

PROGRAM = REPOSITORY / "bench" / "programs" / "run_format_floor.py"


@dataclass
class FormatFloor(Floor):
    """The floor of scenarios with a format."""

    def takes(self, scenario: Scenario) -> bool:
        """Those with a format whose decoder is known."""
        return isinstance(scenario, FormatScenario) and FORMATS[scenario.format].decoder is not None

    def _command(self, scenario: Scenario, partition: int, folder: Path) -> list[str]:
        assert isinstance(scenario, FormatScenario)
        where = [self.site.bootstrap, scenario.topic, str(partition)]
        return [str(PROGRAM), *where, scenario.format, scenario.registry, str(folder)]
