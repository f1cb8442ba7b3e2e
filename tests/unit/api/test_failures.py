"""The errors that failed tasks left, as they are in Airflow's database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from airflow.models.base import Base
from airflow.models.taskinstance import TaskInstance
from airflow.models.trigger import Trigger
from airflow.models.xcom import XComModel
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from floe.api.summaries import FAILURE_KEY, failures
from floe.operators.failures import FAILURE_KEY as LEFT_BY_TASKS

NOW = datetime.now(UTC).replace(microsecond=0)
RUN = "scheduled__1"


@pytest.fixture
def session() -> Iterator[Session]:
    """A session on a database in memory that has the tables which are read."""
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine, tables=[one.__table__ for one in (Trigger, TaskInstance, XComModel)])
    with Session(engine) as one:
        yield one
    engine.dispose()


def task(session: Session, dag_id: str, task_id: str, state: str, minute: int, error: object = None) -> None:
    start = NOW + timedelta(minutes=minute)
    values: dict[str, Any] = {"id": uuid4(), "dag_id": dag_id, "run_id": RUN, "task_id": task_id, "state": state}
    values |= {"start_date": start, "pool": "p", "pool_slots": 1, "map_index": -1, "try_number": 1}
    session.execute(TaskInstance.__table__.insert().values(**values))
    if error is not None:
        left = {
            "dag_run_id": 1,
            "dag_id": dag_id,
            "run_id": RUN,
            "task_id": task_id,
            "map_index": -1,
            "timestamp": start,
        }
        session.execute(XComModel.__table__.insert().values(key=FAILURE_KEY, value=error, **left))


def test_errors_are_those_of_the_failed_tasks_in_their_order(session: Session) -> None:
    task(session, "orders", "commit", "failed", 3, json.dumps("later"))
    task(session, "orders", "write", "failed", 2, json.dumps("first. See FLOE-501."))
    task(session, "orders", "plan", "success", 1)
    task(session, "other", "plan", "failed", 1)
    found = failures(session, {"orders": RUN, "other": RUN, "gone": RUN})
    assert found == {"orders": [("write", "first. See FLOE-501."), ("commit", "later")], "other": [("plan", None)]}
    assert failures(session, {}) == {}


def test_key_is_the_one_of_the_tasks() -> None:
    assert FAILURE_KEY == LEFT_BY_TASKS
