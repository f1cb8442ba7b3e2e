"""Runs: the three steps in processes of their own, tried again as Airflow tries tasks again."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from floe.crash_points import VARIABLE as CRASH_AT
from tests.faults.harness.exits import DONE, RETRYABLE, TERMINAL
from tests.faults.harness.zygote import Child, Zygote

SCALE = float(os.environ.get("FLOE_FAULTS_SCALE", "1"))
"""All time-outs are multiplied by it: more on a slow machine."""

STEP_WITHIN = 120 * SCALE
"""Seconds after which a step that still runs is a finding."""

STEPS = ("plan", "write", "commit")


def timeout_s(seconds: float) -> float:
    """Scale a time-out."""
    return seconds * SCALE


@dataclass(frozen=True)
class JobResult:
    """How a step ended. ``facts``: what it reported; of an error its class and message."""

    step: str
    code: int
    facts: Mapping[str, Any]

    @property
    def is_done(self) -> bool:
        return self.code == DONE

    @property
    def was_killed(self) -> bool:
        return self.code < 0

    @property
    def is_retryable(self) -> bool:
        """Say whether Airflow would try again: a task that was killed too."""
        return self.was_killed or self.code == RETRYABLE

    @property
    def is_refused(self) -> bool:
        return self.code == TERMINAL

    @property
    def error(self) -> str:
        return str(self.facts.get("error", ""))

    @property
    def message(self) -> str:
        return str(self.facts.get("message", ""))


@dataclass
class Attempt:
    """A step under way."""

    step: str
    child: Child
    file: Path
    log: Path

    def finish(self, seconds: float = STEP_WITHIN) -> JobResult:
        """Wait for its end. Raises TimeoutError when it hangs, after it was killed."""
        code = self.child.wait(seconds)
        if code is None:
            self.child.send(signal.SIGKILL)
            self.child.wait(10)
            message = f"step {self.step} did not end within {seconds:.0f} s; the end of its log:\n{self.tail()}"
            raise TimeoutError(message)
        facts = json.loads(self.file.read_text()) if self.file.exists() else {}
        return JobResult(self.step, code, facts)

    def kill(self) -> JobResult:
        """Kill it now, if it still runs."""
        self.child.send(signal.SIGKILL)
        return self.finish()

    def stop(self) -> None:
        """Hold it by SIGSTOP: from here on it is a zombie in the making."""
        self.child.send(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it go on."""
        self.child.send(signal.SIGCONT)

    def tail(self) -> str:
        """Return the end of its log."""
        return self.log.read_text(errors="replace")[-4000:] if self.log.exists() else ""


@dataclass
class Run:
    """One run of a connector: a folder with its order, its plan and the logs of its steps."""

    zygote: Zygote
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    _tries: int = field(default=0)

    @classmethod
    def make(
        cls, zygote: Zygote, folder: Path, order: Mapping[str, Any], environment: Mapping[str, str] | None = None
    ) -> Run:
        """Write the order."""
        folder.mkdir(parents=True)
        (folder / "order.json").write_text(json.dumps(order))
        return cls(zygote, folder, environment or {})

    def change(self, **more: Any) -> None:
        """Change the order from the next step on, as one changes a connection; a frozen plan stays."""
        file = self.folder / "order.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **more}))

    @property
    def plan(self) -> dict[str, Any] | None:
        """The frozen plan."""
        file = self.folder / "plan.json"
        return json.loads(file.read_text()) if file.exists() else None

    def keep_plan(self, plan: Mapping[str, Any]) -> None:
        """Take the plan that another run froze."""
        (self.folder / "plan.json").write_text(json.dumps(plan))

    def start(self, step: str, crash: str | None = None, **environment: str) -> Attempt:
        """Begin a step, to be killed or stopped where ``crash`` says (see ``floe.crash_points``)."""
        self._tries += 1
        name = f"{self._tries:02d}-{step}"
        file, log = self.folder / f"{name}.json", self.folder / f"{name}.log"
        given = {**self.environment, **environment, **({CRASH_AT: crash} if crash else {})}
        child = self.zygote.spawn([step, str(self.folder), str(file)], given, log)
        return Attempt(step, child, file, log)

    def held(self, step: str, point: str, seconds: float = STEP_WITHIN, **environment: str) -> Attempt:
        """Begin a step and wait until it is stopped at a crash point."""
        attempt = self.start(step, f"{point}:STOP", **environment)
        if not attempt.child.wait_until_stopped(seconds):
            message = f"step {step} did not stop at {point}: {attempt.finish(1).facts}\n{attempt.tail()}"
            raise AssertionError(message)
        return attempt

    def step(self, step: str, crash: str | None = None, **environment: str) -> JobResult:
        """Carry out a step once."""
        return self.start(step, crash, **environment).finish()

    def persist(self, step: str, tries: int = 6, pause: float = 0.2) -> JobResult:
        """Carry out a step, tried again as Airflow would while its error may pass."""
        for _ in range(tries):
            outcome = self.step(step)
            if not outcome.is_retryable:
                break
            time.sleep(pause)
        return outcome

    def carry_out(self) -> list[JobResult]:
        """Carry out plan, write and commit, each with retries; the commit also after a failed write, as in the DAG."""
        outcomes = [self.persist("plan")]
        if outcomes[-1].is_done and outcomes[-1].facts["slices"]:
            outcomes += [self.persist(step) for step in STEPS[1:]]
        return outcomes
