"""The run that moves offsets of a connector. It waits until the connector is resumed, and may be changed until then."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.models.dag import DagModel
from airflow.models.dagbag import DBDagBag
from airflow.models.dagrun import DagRun
from airflow.sdk import timezone
from airflow.utils.state import DagRunState
from airflow.utils.types import DagRunTriggeredByType, DagRunType
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from floe.api.connect import audit_log, connector_rows
from floe.api.connect.answers import ConnectError
from floe.config.stored.stored_connector import STOPPED, WANTED

_PREFIX: Final = "rest_offsets__"


def move(session: Session, name: str, param: str, wanted: Mapping[str, int], user: BaseUser) -> str:
    """Create the run of the connector ``name``, or add to the one that waits; return its id.

    Raises ConnectError: 409 while another run is active or waits, and if the connector is resumed at the same time; 400
    where the DAG does not take the param.
    """
    _hold(session, name)
    run = _waiting(session, name, param)
    if run is not None:
        run.conf = {param: {**(run.conf or {})[param], **wanted}}
        run_id = str(run.run_id)
    else:
        run_id = _create(session, name, param, wanted, user)
    shown = dict(list(wanted.items())[: audit_log.MAX_ENTRIES])  # the run has all of them
    audit_log.record(session, user, "offsets", name, run_id=run_id, partitions=len(wanted), offsets=shown)
    session.commit()
    return run_id


def _hold(session: Session, name: str) -> None:
    """Lock the row of the DAG, so that requests at the same time make one run. Raises ConnectError (409) if it runs.

    The DAG of a connector that is stopped while a run of it is active is paused when that has ended.
    """
    session.execute(update(DagModel).where(DagModel.dag_id == name).values(is_paused=DagModel.is_paused))
    is_paused = session.scalar(select(DagModel.is_paused).where(DagModel.dag_id == name))
    mark = connector_rows.marks(session, name).get(name)
    if not is_paused and (mark is None or mark.text != WANTED + STOPPED):
        session.rollback()
        msg = (
            f"Cannot complete request because of a conflicting operation: the connector {name} was resumed at the same time. "
            "Nothing was changed."
        )
        raise ConnectError(409, msg)


def _waiting(session: Session, name: str, param: str) -> DagRun | None:
    """Return a run of a request before, with the same param, that has not begun. Raises ConnectError (409) for another."""
    active = select(DagRun).where(DagRun.dag_id == name, DagRun.state.in_((DagRunState.QUEUED, DagRunState.RUNNING)))
    runs = list(session.scalars(active))
    if not runs:
        return None
    (run, *others) = runs
    if (
        not others
        and run.state == DagRunState.QUEUED
        and run.run_id.startswith(_PREFIX)
        and set(run.conf or ()) == {param}
    ):
        return run
    session.rollback()
    msg = (
        f"Cannot complete request because of a conflicting operation: run {run.run_id!r} of the connector {name} is active, "
        "or waits until it is resumed. Nothing was changed. Send the request again when the run has ended, or mark it as "
        "failed in Airflow."
    )
    raise ConnectError(409, msg)


def _create(session: Session, name: str, param: str, wanted: Mapping[str, int], user: BaseUser) -> str:
    dag = DBDagBag().get_latest_version_of_dag(name, session=session)
    if dag is None or param not in dag.params:
        msg = f"The DAG of the connector {name} has no param {param!r}: update floe. Nothing was changed."
        raise ConnectError(400, msg)
    now = timezone.utcnow()
    run_id = f"{_PREFIX}{now.isoformat()}"
    # a scheduled run that is due on resume would read first what this run is to skip
    due = session.scalar(select(DagModel.next_dagrun_create_after).where(DagModel.dag_id == name))
    run_after = now if due is None else min(now, due - timedelta(seconds=1))
    try:
        dag.create_dagrun(
            run_id=run_id,
            logical_date=None,
            run_after=run_after,
            conf={param: dict(wanted)},
            run_type=DagRunType.MANUAL,
            triggered_by=DagRunTriggeredByType.REST_API,
            triggering_user_name=user.get_name(),
            state=DagRunState.QUEUED,
            session=session,
        )
    except ValueError as error:
        session.rollback()
        raise ConnectError(400, f"{error} Nothing was changed.") from error
    return run_id
