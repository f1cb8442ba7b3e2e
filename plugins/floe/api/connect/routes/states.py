"""Routes that change the state of connectors and their tasks."""

from __future__ import annotations

from typing import Annotated

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.common.db.common import SessionDep
from fastapi import APIRouter, Query, Response
from pydantic import BeforeValidator

from floe.api.access import Caller
from floe.api.connect import connector_changes
from floe.api.connect.access import readable_connector, require_dag
from floe.api.connect.connector_states import States, status_of
from floe.api.connect.http import ConnectError, answer, flag, task_number
from floe.config.stored.stored_connector import PAUSED, RUNNING, STOPPED

router = APIRouter(prefix="/connectors/{name}")
TaskNumber = Annotated[int, BeforeValidator(task_number)]


@router.put("/pause")
def pause(name: str, user: Caller, session: SessionDep) -> Response:
    """Pause a connector."""
    return _set_state(name, user, session, PAUSED, 202)


@router.put("/resume")
def resume(name: str, user: Caller, session: SessionDep) -> Response:
    """Resume a connector."""
    return _set_state(name, user, session, RUNNING, 202)


@router.put("/stop")
def stop(name: str, user: Caller, session: SessionDep) -> Response:
    """Stop a connector, and allow changes of its offsets."""
    return _set_state(name, user, session, STOPPED, 204)


def _set_state(name: str, user: Caller, session: SessionDep, state: str, status: int) -> Response:
    known = readable_connector(user, session, name, f"Unknown connector {name}")
    require_dag(user, session, name, "PUT")
    connector_changes.set_state(session, user, known, state)
    return Response(status_code=status)


@router.post("/restart")
def restart(
    name: str,
    user: Caller,
    session: SessionDep,
    with_tasks: Annotated[list[str] | None, Query(alias="includeTasks")] = None,
    only_failed: Annotated[list[str] | None, Query(alias="onlyFailed")] = None,
) -> Response:
    """Run the failed tasks of the last run again."""
    is_long = flag(with_tasks, default=False) or flag(only_failed, default=False)
    known = readable_connector(user, session, name, f"Unknown connector: {name}")
    require_dag(user, session, name, "PUT", DagAccessEntity.TASK_INSTANCE)
    connector_changes.restart(session, user, known)
    if not is_long:
        return Response(status_code=204)
    return answer(status_of(known, States.read(session, [name])), 202)


@router.get("/tasks/{task}/status")
def task_status(name: str, task: TaskNumber, user: Caller, session: SessionDep) -> Response:
    """Return the state of a task."""
    msg = f"No status found for task {name}-{task}"
    known = readable_connector(user, session, name, msg)
    tasks = status_of(known, States.read(session, [name]))["tasks"]
    if not 0 <= task < len(tasks):
        raise ConnectError(404, msg)
    return answer(tasks[task])


@router.post("/tasks/{task}/restart")
def restart_task(name: str, task: TaskNumber, user: Caller, session: SessionDep) -> Response:
    """Run the failed tasks of the last run again: the tasks of a connector fail together."""
    known = readable_connector(user, session, name)
    require_dag(user, session, name, "PUT", DagAccessEntity.TASK_INSTANCE)
    if not 0 <= task < len(status_of(known, States.read(session, [name]))["tasks"]):
        msg = f"Task {name}-{task} not found"
        raise ConnectError(404, msg)
    connector_changes.restart(session, user, known)
    return Response(status_code=204)
