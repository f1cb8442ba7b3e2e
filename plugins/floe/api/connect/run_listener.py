"""A listener that lets a connector have the state that REST wants when its run ends, in the transaction that ends the run.

It is called where Airflow ends a run: in the scheduler, and in the API server for a run that a user marks. So no other
run begins in between. A run of floe's status, each minute, does the same for connectors that Airflow has read meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.listeners import hookimpl

from floe.config.names import REPLAY_SUFFIX, STATUS_DAG
from floe.config.stored.stored_connector import STATE

if TYPE_CHECKING:
    from airflow.models.dagrun import DagRun
    from sqlalchemy.orm import Session


@hookimpl
def on_dag_run_success(dag_run: DagRun) -> None:
    """Settle the connector of a run."""
    _settle(dag_run)


@hookimpl
def on_dag_run_failed(dag_run: DagRun) -> None:
    """Settle the connector of a run."""
    _settle(dag_run)


def _settle(dag_run: DagRun) -> None:
    from sqlalchemy.orm import object_session

    name = None if dag_run.dag_id == STATUS_DAG else dag_run.dag_id.removesuffix(REPLAY_SUFFIX)
    session = object_session(dag_run)
    if session is None or not _has_marks(session, name):
        return
    from floe.api.connect import wanted_states

    session.flush()
    # an error here must not take the end of the run with it; the scheduler forbids the session's own savepoint to end
    with session.connection().begin_nested():
        wanted_states.settle(session, name)


def _has_marks(session: Session, name: str | None) -> bool:
    """Whether there is something to do: most runs are of other DAGs, or of connectors that go on."""
    from airflow.models.variable import Variable
    from sqlalchemy import select

    chosen = Variable.key.startswith(STATE, autoescape=True) if name is None else Variable.key == STATE + name
    return session.scalar(select(Variable.key).where(chosen).limit(1)) is not None
