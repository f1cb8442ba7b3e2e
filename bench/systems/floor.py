"""The floor: consume, decode and encode alone, a process for each core; the sum of their times is the minimum."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.formats.scenario import FormatScenario
from bench.measurement import Measurement
from bench.program import Program, environment_of
from bench.scenario import Scenario
from bench.site import Site
from bench.topics import PARTITIONS
from bench.usage import Meter
from stack.settings import REPOSITORY

PROGRAM = REPOSITORY / "bench" / "programs" / "run_floor.py"
STEPS = ("consume", "decode", "encode")


@dataclass
class Floor:
    """The parts of floe without anything between them."""

    site: Site
    name: str = "floor"

    def warm(self) -> AbstractContextManager[None]:
        """Nothing stays up."""
        return nullcontext()

    def takes(self, scenario: Scenario) -> bool:
        """One table, and records that are JSON of its columns' types."""
        return scenario.layout == "one" and not isinstance(scenario, FormatScenario)

    def measure(self, scenario: Scenario, number: int) -> Measurement:
        """Do each step by itself and add up the times of the slowest process of each."""
        folder = self.site.work(self.site.namespace())
        with ExitStack() as stack:
            programs = [
                stack.enter_context(
                    Program.of(self._command(scenario, p, folder), environment_of(REPOSITORY), folder / f"{p}.log")
                )
                for p in range(PARTITIONS)
            ]
            steps, brokers = zip(*(self._step(programs) for _ in STEPS), strict=True)
        seconds = {step: max(one["seconds"] for one in parts) for step, parts in zip(STEPS, steps, strict=True)}
        cpu = {step: sum(one["cpu_seconds"] for one in parts) for step, parts in zip(STEPS, steps, strict=True)}
        counts = {sum(one["records"] for one in parts) for parts in steps}
        if counts != {scenario.records}:
            msg = f"the floor saw {sorted(counts)} records of {scenario.records}"
            raise RuntimeError(msg)
        more = {f"{step}_seconds": took for step, took in seconds.items()}
        more |= {f"{step}_cpu_seconds": took for step, took in cpu.items()} | {"broker_cpu_seconds": sum(brokers)}
        total, cpu_total = sum(seconds.values()), sum(cpu.values()) + sum(brokers)
        return Measurement(scenario.name, self.name, number, scenario.records, total, cpu_total, more=more)

    def _step(self, programs: Sequence[Program]) -> tuple[list[dict[str, Any]], float]:
        """Let each process do its next step, all at once; return what each says, and the CPU seconds of the broker."""
        for program in programs:
            program.read_line("ready")
        with Meter([], self.site.broker_process) as meter:
            for program in programs:
                program.write_line("go")
            return [program.read_result() for program in programs], meter.usage_now().cpu_seconds

    def _command(self, scenario: Scenario, partition: int, folder: Path) -> list[str]:
        """Return the program for one partition, with its arguments."""
        where = [self.site.bootstrap, scenario.topic, str(partition)]
        return [str(PROGRAM), *where, scenario.shape.name, str(folder)]
