"""A stand-in for what Airflow gives a task."""

from __future__ import annotations

import json
from typing import Any

from floe.model.plan import Plan
from floe.model.plan_seal import RunName
from tests.support.keys import KEY


class TaskInstance:
    """What the write task asks of Airflow's: its run, and the plan."""

    dag_id, run_id = "pizzas", "manual__1"

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def xcom_pull(self, task_ids: str) -> dict[str, Any]:
        assert task_ids == "plan"
        sealed = KEY.seal(self._plan.to_json(), RunName(self.dag_id, self.run_id))
        return json.loads(json.dumps(sealed))
