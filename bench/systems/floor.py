"""The floor: consume, decode and encode alone, a process for each core; the sum of their times is the minimum."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measurement import Measurement
from bench.scenario import Scenario
from bench.site import Site
from bench.topics import PARTITIONS
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
        """One table."""
        return scenario.layout == "one"

    def measure(self, scenario: Scenario, number: int) -> Measurement:
        """Do each step by itself and add up the times of the slowest process of each."""
        steps = {step: self._step(step, scenario) for step in STEPS}
        seconds = {step: max(one["seconds"] for one in parts) for step, parts in steps.items()}
        cpu = {step: sum(one["cpu_seconds"] for one in parts) for step, parts in steps.items()}
        counts = {sum(one["records"] for one in parts) for parts in steps.values()}
        if counts != {scenario.records}:
            msg = f"the floor saw {sorted(counts)} records of {scenario.records}"
            raise RuntimeError(msg)
        more = {f"{step}_seconds": took for step, took in seconds.items()}
        more |= {f"{step}_cpu_seconds": took for step, took in cpu.items()}
        return Measurement(
            scenario.name, self.name, number, scenario.records, sum(seconds.values()), sum(cpu.values()), more=more
        )

    def _step(self, step: str, scenario: Scenario) -> list[dict[str, Any]]:
        folder = self.site.work(self.site.namespace())
        folders = [str(REPOSITORY / name) for name in ("plugins", "spark_jobs", ".")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
        runs = [
            subprocess.Popen(
                [sys.executable, *self._command(step, scenario, p, folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                text=True,
            )
            for p in range(PARTITIONS)
        ]
        for run in runs:
            assert run.stdout is not None
            run.stdout.readline()
        for run in runs:
            assert run.stdin is not None
            run.stdin.write("go\n")
            run.stdin.flush()
        return [json.loads(run.communicate()[0].splitlines()[-1]) for run in runs]

    def _command(self, step: str, scenario: Scenario, partition: int, folder: Path) -> list[str]:
        """Return the program of one step for one partition, with its arguments."""
        return [
            str(PROGRAM),
            step,
            self.site.bootstrap,
            scenario.topic,
            str(partition),
            scenario.shape.name,
            str(folder),
        ]
