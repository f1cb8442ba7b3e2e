"""Routes of a connector's offsets and topics, as its status record has them: no request asks the brokers."""

from __future__ import annotations

from typing import Annotated, Any

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.common.db.common import SessionDep
from fastapi import APIRouter, Depends, Response

from floe.api.access import Caller
from floe.api.connect import offset_changes
from floe.api.connect.access import readable_connector, require_dag
from floe.api.connect.connector_states import States
from floe.api.connect.connector_store import KnownConnector
from floe.api.connect.http import ConnectError, answer, json_body
from floe.api.records import kept_status
from floe.config.names import REPLAY_SUFFIX
from floe.status.connector_status import ConnectorStatus

router = APIRouter(prefix="/connectors/{name}")


@router.get("/offsets")
def offsets(name: str, user: Caller, session: SessionDep) -> Response:
    """Return the committed offsets."""
    readable_connector(user, session, name)
    return answer(offset_changes.offsets_of(_status(session, name)))


@router.patch("/offsets")
def patch_offsets(name: str, user: Caller, session: SessionDep, body: Annotated[Any, Depends(json_body)]) -> Response:
    """Move offsets by a run, while the connector is stopped: forward, or to where topics begin that were not read yet."""
    known = readable_connector(user, session, name)
    require_dag(user, session, name, "POST", DagAccessEntity.RUN)
    wanted = offset_changes.wanted_offsets(body)
    _require_stopped(session, known)
    param = offset_changes.param_of(name, wanted, _status(session, name))
    run_id = offset_changes.move(session, name, param, wanted, user)
    message = (
        f"The offsets for this connector are moved by run {run_id!r} of its DAG, which begins when the connector is resumed. "
        "The records before are in no table, but for those that were read."
    )
    return answer({"message": message})


@router.delete("/offsets")
def delete_offsets(name: str, user: Caller, session: SessionDep) -> Response:
    """Refuse: the tables of a connector contain what it has read."""
    known = readable_connector(user, session, name)
    require_dag(user, session, name, "POST", DagAccessEntity.RUN)
    _require_stopped(session, known)
    dag_id = name + REPLAY_SUFFIX
    msg = (
        "Offsets are not reset: the tables contain what was read, and reading it again from the start would leave it out. "
        f"Nothing was changed. To write everything again, trigger the DAG {dag_id!r} with all=true and overlap=replace. To "
        "begin somewhere else, make a connector of another name."
    )
    raise ConnectError(400, msg)


@router.get("/topics")
def topics(name: str, user: Caller, session: SessionDep) -> Response:
    """List the topics that the connector has read."""
    readable_connector(user, session, name)
    status = _status(session, name)
    partitions = () if status is None or status.partitions is None else status.partitions
    read = sorted({one.topic for one in partitions if one.committed is not None})
    return answer({name: {"topics": read}})


@router.put("/topics/reset")
def reset_topics(name: str, user: Caller, session: SessionDep) -> Response:
    """Refuse, as a worker does that has the reset disabled: the topics are those of the offsets."""
    readable_connector(user, session, name)
    require_dag(user, session, name, "PUT")
    msg = "Topic tracking reset is disabled."
    raise ConnectError(403, msg)


def _status(session: SessionDep, name: str) -> ConnectorStatus | None:
    kept = kept_status(session, [name]).get(name)
    return None if kept is None or kept.record is None else kept.record.status


def _require_stopped(session: SessionDep, known: KnownConnector) -> None:
    if not States.read(session, [known.name]).is_stopped(known):
        msg = (
            "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the "
            f"specified connector by issuing a 'PUT' request to the '/connectors/{known.name}/stop' endpoint"
        )
        raise ConnectError(400, msg)
