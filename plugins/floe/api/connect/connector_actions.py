"""Pause, resume, stop, restart: what these calls mean for the DAG of a connector."""

from __future__ import annotations

from typing import Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.models.taskinstance import TaskInstance, clear_task_instances
from sqlalchemy import select
from sqlalchemy.orm import Session

from floe.api.connect import audit_log, wanted_states
from floe.api.connect.connector_states import FAILED, States
from floe.api.connect.known_connectors import KnownConnector
from floe.config.stored.stored_connector import PAUSED, RUNNING, STOPPED

_ORDER: Final = {"plan": 0, "write": 1, "commit": 2}
_FAILED: Final = ("failed", "upstream_failed")


_EVENTS: Final = {PAUSED: "pause", STOPPED: "stop", RUNNING: "resume"}


def set_state(session: Session, user: BaseUser, known: KnownConnector, state: str) -> None:
    """Let a connector be running, paused or stopped. A run that is active goes on to its end, and no other begins."""
    wanted_states.want(session, known.name, state)
    audit_log.record(session, user, _EVENTS[state], known.name)
    session.commit()


def restart(session: Session, user: BaseUser, known: KnownConnector) -> None:
    """Clear the failed tasks of the last run, so that they run again; nothing where the last run did not fail."""
    states = States.read(session, [known.name])
    run = states.failed_run(known)
    if states.of(known)[2] != FAILED or run is None:
        return
    chosen = (TaskInstance.dag_id == known.name, TaskInstance.run_id == run.run_id)
    tasks = sorted(session.scalars(select(TaskInstance).where(*chosen)), key=lambda one: _ORDER.get(one.task_id, 0))
    failed = next((at for at, one in enumerate(tasks) if one.state in _FAILED), len(tasks))
    # what is behind a failed task may have ended well without it
    clear_task_instances(tasks[failed:], session)
    cleared = [task.task_id for task in tasks[failed:]]
    audit_log.record(session, user, "restart", known.name, run_id=run.run_id, tasks=cleared)
    session.commit()
