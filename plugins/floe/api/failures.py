"""What the failed tasks of runs left: the error of each, as XCom has it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

FAILURE_KEY: Final = "failure"
"""The XCom in which floe's tasks leave their error."""


def failures(session: Session, failed: Mapping[str, str]) -> dict[str, list[tuple[str, str | None]]]:
    """Return the failed tasks of runs in the order of their start, each with its error; None where it left none.

    ``failed``: the run's id by DAG.
    """
    if not failed:
        return {}
    its = or_(*((TaskInstance.dag_id == name) & (TaskInstance.run_id == run) for name, run in failed.items()))
    query = select(TaskInstance.dag_id, TaskInstance.task_id).where(its, TaskInstance.state == "failed")
    tasks: dict[str, list[str]] = {}
    for name, task_id in session.execute(query.order_by(TaskInstance.start_date)):
        tasks.setdefault(name, []).append(task_id)
    left = or_(*((XComModel.dag_id == name) & (XComModel.run_id == run) for name, run in failed.items()))
    xcoms = select(XComModel.dag_id, XComModel.task_id, XComModel.value).where(XComModel.key == FAILURE_KEY, left)
    errors = {(name, task): str(_plain(value)) for name, task, value in session.execute(xcoms)}
    return {name: [(task, errors.get((name, task))) for task in some] for name, some in tasks.items()}


def _plain(value: object) -> object:
    """Return a value of XCom, which Airflow stores as JSON in JSON."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value
