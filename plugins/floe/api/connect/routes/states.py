"""Routes that change the state of connectors and their tasks."""

from __future__ import annotations

from typing import Annotated

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.common.db.common import SessionDep
from fastapi import APIRouter, Query, Response
from pydantic import BeforeValidator

from floe.api.connect import connector_actions
from floe.api.connect.access import readable_connector, require_dag
from floe.api.connect.answers import ConnectError, answer
from floe.api.connect.connector_states import States, status_of
from floe.api.connect.http.parameters import flag, task_number
from floe.api.identity import Caller

router = APIRouter(prefix="/connectors/{name}")
TaskNumber = Annotated[int, BeforeValidator(task_number)]


@router.put("/pause")
def pause(name: str, user: Caller, session: SessionDep) -> Response:
    """Pause the DAG of a connector."""
    return _paused(name, user, session, 202, is_paused=True)


@router.put("/resume")
def resume(name: str, user: Caller, session: SessionDep) -> Response:
    """Unpause the DAG of a connector."""
    return _paused(name, user, session, 202, is_paused=False)


@router.put("/stop")
def stop(name: str, user: Caller, session: SessionDep) -> Response:
    """Pause the DAG of a connector, and allow changes of its offsets."""
    return _paused(name, user, session, 204, is_paused=True, is_stopped=True)


def _paused(
    name: str, user: Caller, session: SessionDep, status: int, *, is_paused: bool, is_stopped: bool = False
) -> Response:
    known = readable_connector(user, session, name, f"Unknown connector {name}")
    require_dag(user, session, name, "PUT")
    connector_actions.set_paused(session, user, known, is_paused=is_paused, is_stopped=is_stopped)
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
    connector_actions.restart(session, user, known)
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
    connector_actions.restart(session, user, known)
    return Response(status_code=204)
