"""One run of a floe connector: its three tasks, called as Airflow calls them, one after the other.

Usage: ``run_floe.py CONNECTOR.json [MAX_RECORDS]``. Prints ``ready`` once it has imported what Airflow's scheduler imports
for floe's tasks, starts at a line on its standard input, prints one JSON line. What Airflow adds, scheduling and a process
for each task, is measured by the latency suite.
"""

import json
import os
import sys
import time
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("AIRFLOW__CORE__UNIT_TEST_MODE", "False")

from airflow.sdk import DAG
from airflow.sdk.execution_time.context import OutletEventAccessors

from floe.config import parse_connector
from floe.operators.commit import CommitOperator
from floe.operators.dags.forms import sink_form
from floe.operators.plan import PlanOperator
from floe.operators.preload import preload
from floe.operators.write import WriteFilesOperator


class TaskInstance:
    """The part of Airflow's task instance that the tasks use: the run, and each other's results."""

    dag_id, run_id = "bench", "bench"

    def __init__(self) -> None:
        self.results: dict[str, Any] = {}

    def xcom_pull(self, task_ids: str, key: str = "return_value") -> Any:
        """Return a task's result, or what it pushed under a key; None without any."""
        return self.results.get(task_ids if key == "return_value" else key)

    def xcom_push(self, key: str, value: Any) -> None:
        """Keep a result."""
        self.results[key] = value


class Store(dict[str, Any]):
    """Airflow's task state store."""

    def set(self, key: str, value: Any, **_: Any) -> None:
        """Keep a value, as JSON."""
        self[key] = json.loads(json.dumps(value))


def main(argv: list[str]) -> None:
    """Run plan, write and commit."""
    preload()
    with open(argv[1]) as file:  # noqa: PTH123
        connector = parse_connector(json.load(file))
    tasks = {
        "plan": PlanOperator(task_id="plan", connector=connector),
        "write": WriteFilesOperator(task_id="write", connector=connector),
        "commit": CommitOperator(task_id="commit", connector=connector),
    }
    print("ready", flush=True)
    sys.stdin.readline()
    instance = TaskInstance()
    params = {"max_records": int(argv[2])} if len(argv) > 2 else {}
    form = sink_form(connector)
    context: Any = {
        "ti": instance,
        "params": params,
        "task_state_store": Store(),
        "dag": DAG("bench", params=form),
        "dag_run": SimpleNamespace(conf=None, run_type="manual"),
        "outlet_events": OutletEventAccessors(),
    }
    began = time.perf_counter()
    seconds = {}
    for name, task in tasks.items():
        instance.results[name] = json.loads(json.dumps(task.execute(context)))
        seconds[name], began = time.perf_counter() - began, time.perf_counter()
    print(json.dumps({"seconds": seconds, "tables": instance.results["commit"]["tables"]}), flush=True)


if __name__ == "__main__":
    main(sys.argv)
