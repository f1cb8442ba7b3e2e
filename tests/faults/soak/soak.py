"""The soak itself: round after round of faults around a run, then quiet, then the oracle."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path

import confluent_kafka as ck

from stack.progress import say
from tests.faults.harness.run import Run
from tests.faults.oracle.oracle import Report
from tests.faults.soak import data_faults, process_faults, wire_faults
from tests.faults.soak.schedule import Round, rounds
from tests.faults.soak.stage import Stage

QUIET_TRIES = 30

STRIKES = {**data_faults.FAULTS, "Python worker killed": process_faults.kill_python_worker}
"""What happens before a round's run."""


@dataclass
class Soak:
    """One soak of a seed."""

    seed: int
    minutes: float
    folder: Path
    avro: bool = False

    def run(self) -> bool:
        """Break things for some minutes, then judge; say whether all is green."""
        stage = Stage.set_up(self.folder, avro=self.avro)
        try:
            end = time.monotonic() + self.minutes * 60
            schedule = rounds(self.seed, has_registry=self.avro)
            while time.monotonic() < end:
                self._round(stage, next(schedule))
            say("quiet")
            self._quieten(stage)
            for proxy in stage.proxies:
                stage.sink.faults.update(proxy.faults)
            report = stage.sink.judge()
            self._tell(stage, report)
            return report.is_green and not stage.surprises
        finally:
            stage.tear_down()

    def _round(self, stage: Stage, one: Round) -> None:
        started = time.monotonic()
        stage.chance = random.Random(one.seed)
        stage.round_number = one.number
        stage.sink.producer.produce(stage.chance.choice([10, 100, 400, 1000]), pad=60)
        stage.wake(one.number)
        if one.rare is not None:
            self._strike(stage, one.rare)
        self._strike(stage, one.data)
        self._decide(stage)
        if stage.sink.snapshots():
            wire_faults.FAULTS[one.catalog](stage)
        run = stage.sink.new_run(max_records=stage.chance.choice([None, None, 300, 2000]))
        process_faults.FAULTS[one.process](stage, run)
        stage.count(one.process)
        befell = ", ".join(filter(None, (one.rare, one.data, one.catalog, one.process)))
        say(f"{one.number:4d}  {time.monotonic() - started:5.1f} s  {befell}")

    def _strike(self, stage: Stage, kind: str) -> None:
        """Let a fault happen. What it cannot do at this moment (no such group, topic being deleted) is passed over."""
        try:
            STRIKES[kind](stage)
        except ck.KafkaException as error:
            say(f"      {kind}: not now ({error.args[0].name()})")
            return
        stage.count(kind)

    def _decide(self, stage: Stage) -> None:
        """Do what an operator does about a refusal: read it, then run again with the decision that it names."""
        if not stage.decisions:
            return
        refused = stage.note(stage.sink.new_run().step("plan"))
        decided: Run = stage.sink.new_run(decisions=stage.decisions)
        say(f"      decided: {stage.decisions} after {refused.error or 'no refusal'}")
        if process_faults.carry_on(stage, decided):
            stage.decisions = {}
            stage.sink.watcher.disturbed.clear()

    def _quieten(self, stage: Stage) -> None:
        """End all faults and run until two runs in a row found nothing to do."""
        stage.calm()
        idle = 0
        for _ in range(QUIET_TRIES):
            run = stage.sink.new_run(decisions=stage.decisions)
            is_done = process_faults.carry_on(stage, run)
            if is_done:
                stage.decisions = {}
            idle = idle + 1 if is_done and run.plan is not None and not run.plan["slices"] else 0
            if idle == 2:
                return
        stage.surprises.append(f"not quiet after {QUIET_TRIES} runs; positions: {stage.sink.marks()}")

    def _tell(self, stage: Stage, report: Report) -> None:
        say(f"\nseed {self.seed}, {self.minutes:g} minutes, {'Avro' if self.avro else 'JSON'}")
        say(str(report))
        say("steps: " + ", ".join(f"{name} {count}" for name, count in stage.outcomes.most_common()))
        for surprise in stage.surprises[:20]:
            say(f"  SURPRISE {surprise[:500]}")
