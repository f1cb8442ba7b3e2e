"""The driver: what the tasks of a run do, one step at a time, in a process that can be killed.

A step takes the run's folder, which holds ``order.json`` (connector, Kafka, decisions) and, once it is frozen,
``plan.json``, as Airflow's task state store does: a step that is tried again finds the same plan.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from floe.commit.run_commit import Committer
from floe.config import parse_connector, restore_config
from floe.crash_points import CrashPoint, reach
from floe.exceptions import FloeError, Terminal
from floe.kafka.settings import KafkaSettings
from floe.model.decisions import Decisions
from floe.model.plan import Plan
from floe.model.plan_seal import PlanKey
from floe.planning.live_plan import draft_plan, open_plan
from floe_job.application import write_files as job
from floe_job.contract.result import Sum
from floe_job.runtime.job_files import JobRequest
from tests.faults.harness import clock
from tests.faults.harness.exits import BROKEN, DONE, RETRYABLE, TERMINAL
from tests.support.keys import KEY


@dataclass
class LocalSession:
    """In place of a classic Spark session whose tasks run here one after the other.

    ``twins`` runs each twice; ``loses_a_result`` keeps the last one's result to itself.
    """

    twins: bool = False
    loses_a_result: bool = False
    _tasks: Sequence[Any] = ()
    _function: Callable[[Iterator[Any]], Iterable[Any]] | None = None
    sparkContext: LocalSession = field(init=False)

    def __post_init__(self) -> None:
        self.sparkContext = self

    def setJobGroup(self, _group: str, _description: str) -> None:
        """Keep no account of jobs."""

    def accumulator(self, _zero: Any, _param: Any) -> Sum:
        """Return what sums up the work of the tasks."""
        return Sum()

    def parallelize(self, tasks: Sequence[Any], _slices: int) -> LocalSession:
        """Take the tasks."""
        self._tasks = tasks
        return self

    def mapPartitions(self, function: Callable[[Iterator[Any]], Iterable[Any]]) -> LocalSession:
        """Take what is done with each."""
        self._function = function
        return self

    def collect(self) -> list[Any]:
        """Run them; of twins the second one's results count, and the first one's files stay behind."""
        assert self._function is not None
        found = []
        for task in self._tasks:
            attempts = [list(self._function(iter([task]))) for _ in range(2 if self.twins else 1)]
            found += attempts[-1]
        return found[:-1] if self.loses_a_result else found


@dataclass
class Step:
    """One step of one run."""

    folder: Path
    order: dict[str, Any]

    @classmethod
    def load(cls, folder: Path) -> Step:
        """Read the run's order."""
        return cls(folder, json.loads((folder / "order.json").read_text()))

    def plan(self) -> dict[str, Any]:
        """Freeze a plan, or find the frozen one, and open it."""
        connector = parse_connector(self.order["connector"])
        plan = self._frozen()
        if plan is None:
            settings = KafkaSettings.of(connector, self.order["kafka"])
            decisions = Decisions.of(self.order.get("decisions") or {})
            plan = draft_plan(connector, settings, self.order.get("max_records"), decisions=decisions)
            reach(CrashPoint.PLAN_FREEZE)
            self._save("plan.json", plan.to_json())
            reach(CrashPoint.PLAN_FROZEN)
        connector = restore_config(plan.config, connector)
        is_open = open_plan(plan, connector, KafkaSettings.of(connector, self.order["kafka"]), _key(plan))
        ranges = {str(r.tp): [r.start, r.end] for s in plan.slices for r in s.ranges}
        return {"work": is_open, "slices": len(plan.slices), "ranges": ranges, "kinds": [s.kind for s in plan.slices]}

    def write(self) -> dict[str, Any]:
        """Write and announce what is not announced yet."""
        plan, committer, order = self._at_work()
        left = {plan.slice_id(slice_) for slice_ in committer.open_slices()}
        found = committer.announcements([])
        if left <= found.keys():
            return self._written(sorted(found), "announced already" if left else "committed already")
        every = {plan.slice_id(slice_) for slice_ in plan.slices}
        order = replace(order, done=frozenset(every - left | found.keys()))
        job.write_files(self._session(), order)
        return self._written(sorted(committer.announcements(left)), "written")

    def commit(self) -> dict[str, Any]:
        """Commit what was announced."""
        _, committer, _ = self._at_work()
        written = self.folder / "written.json"
        announced = json.loads(written.read_text())["announced"] if written.exists() else []
        report = committer.commit(announced)
        committed = {table.table_files.table: table.already for table in report.committed}
        return {"done_before": report.done, "landed_before": committed}

    def run(self) -> dict[str, Any]:
        """Plan, write and commit."""
        facts = self.plan()
        if facts["slices"]:
            self.write()
            facts |= self.commit()
        return facts

    def _session(self) -> Any:
        master = self.order.get("spark")
        if not master:
            return LocalSession(bool(self.order.get("twins")), bool(self.order.get("loses_a_result")))
        os.environ |= {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
        return builder.config("spark.python.daemon.module", "floe_job.runtime.worker_daemon").getOrCreate()

    def _at_work(self) -> tuple[Plan, Committer, JobRequest]:
        plan = self._frozen()
        if plan is None:
            message = f"{self.folder} has no plan: its plan step did not get that far"
            raise FileNotFoundError(message)
        connector = restore_config(plan.config, parse_connector(self.order["connector"]))
        order = JobRequest(plan, connector, KafkaSettings.of(connector, self.order["kafka"]), _key(plan))
        return plan, Committer.open(plan, connector, order.settings, order.key), order

    def _frozen(self) -> Plan | None:
        file = self.folder / "plan.json"
        return Plan.from_json(json.loads(file.read_text())) if file.exists() else None

    def _written(self, announced: list[str], how: str) -> dict[str, Any]:
        self._save("written.json", {"announced": announced})
        return {"how": how, "announced": announced}

    def _save(self, name: str, fields: dict[str, Any]) -> None:
        partial = self.folder / f"{name}.{id(fields)}"
        partial.write_text(json.dumps(fields))
        partial.replace(self.folder / name)


def _key(plan: Plan) -> PlanKey:
    return KEY.plan_key(plan.plan_id)


def main(argv: Sequence[str]) -> int:
    """Carry out ``argv[0]`` (plan, write, commit or run) in the folder ``argv[1]``, its outcome in ``argv[2]``."""
    name, folder, outcome = argv[0], Path(argv[1]), Path(argv[2])
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stdout)
    clock.shift_by_environment()
    try:
        facts, code = getattr(Step.load(folder), name)(), DONE
    except FloeError as error:
        logging.exception("step %s", name)
        code = TERMINAL if isinstance(error, Terminal) else RETRYABLE
        facts = {"error": type(error).__name__, "message": str(error)}
    except Exception as error:
        logging.exception("step %s", name)
        code, facts = BROKEN, {"error": type(error).__name__, "message": str(error)}
    outcome.write_text(json.dumps(facts))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
