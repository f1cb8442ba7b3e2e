"""Pause, resume, stop, restart: what these calls mean for the DAG of a connector."""

from __future__ import annotations

from typing import Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.models.dag import DagModel
from airflow.models.taskinstance import TaskInstance, clear_task_instances
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from floe.api.connect import audit_log, connector_rows
from floe.api.connect.answers import ConnectError
from floe.api.connect.connector_states import FAILED, States
from floe.api.connect.known_connectors import KnownConnector
from floe.config.stored.stored_connector import STOPPED

_ORDER: Final = {"plan": 0, "write": 1, "commit": 2}
_FAILED: Final = ("failed", "upstream_failed")


def set_paused(
    session: Session, user: BaseUser, known: KnownConnector, *, is_paused: bool, is_stopped: bool = False
) -> None:
    """Pause or unpause the connector's DAG. A run that is active goes on to its end, as a paused DAG only starts none.

    Raises ConnectError (409) where the connector is no DAG yet.
    """
    change = update(DagModel).where(DagModel.dag_id == known.name, ~DagModel.is_stale).values(is_paused=is_paused)
    if session.execute(change).rowcount != 1:  # type: ignore[attr-defined]
        session.rollback()
        msg = (
            f"Cannot complete request because of a conflicting operation: Airflow has not yet parsed the connector "
            f"{known.name}. Nothing was changed. Send the request again in some seconds."
        )
        raise ConnectError(409, msg)
    connector_rows.set_mark(session, known.name, STOPPED if is_stopped else None)
    audit_log.record(session, user, "stop" if is_stopped else "pause" if is_paused else "resume", known.name)
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
