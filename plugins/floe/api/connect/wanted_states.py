"""What REST wants connectors to become: kept until Airflow has read the connector and no run of it is active.

Airflow schedules no task of a paused DAG, so a run that is active when its DAG is paused never ends. A connector that is
paused, stopped or deleted has its state at once, and its DAG is paused when its run has ended: in the transaction in which
the scheduler ends the run (``run_listener``), and else when the API is next asked. No scheduled run reads anything until
then (``floe.operators.plan``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from airflow.models.asset import AssetAliasModel, TaskOutletAssetReference, alias_association_table
from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.utils.state import DagRunState
from sqlalchemy import Table, delete, select, update
from sqlalchemy.orm import Session

from floe.api.connect import connector_store
from floe.api.connect.connector_store import ConnectorRow
from floe.config.names import ALIAS_PREFIX, REPLAY_SUFFIX
from floe.config.stored.stored_connector import DELETED, PAUSED, RUNNING, STOPPED, WANTED

LEAVING: Final = WANTED + DELETED
_RUNS: Final[Table] = DagRun.__table__


def want(session: Session, name: str, state: str) -> None:
    """Keep the state that a connector is to have, and give it as far as it can be given now; the caller commits."""
    connector_store.set_mark(session, name, WANTED + state)
    settle(session, name)


def settle(session: Session, name: str | None = None) -> bool:
    """Give connectors the states that are wanted, of all or of the one named; return whether something was changed.

    The caller commits. A change that another process made meanwhile is left to it.
    """
    marks = connector_store.marks(session, name)
    dags = _Dags.read(session, [dag_id for one in marks for dag_id in dags_of(one)]) if marks else _Dags()
    changed = [one for one, row in marks.items() if _settle(session, one, row, dags)]
    return bool(changed)


def settle_now(session: Session, name: str | None = None) -> None:
    """Give connectors the states that are wanted, and commit."""
    if settle(session, name):
        session.commit()


def leaving(session: Session, name: str | None = None) -> set[str]:
    """Return the connectors that are to be deleted when their runs have ended."""
    return {one for one, row in connector_store.marks(session, name).items() if row.text == LEAVING}


def awaited(session: Session, name: str) -> str:
    """Say which run of a connector has to end before it goes."""
    query = select(DagRun.dag_id, DagRun.run_id).where(DagRun.dag_id.in_(dags_of(name)))
    found = session.execute(query.where(DagRun.state == DagRunState.RUNNING).limit(1)).first()
    return "its run" if found is None else f"run {found[1]!r} of the DAG {found[0]!r}"


def dags_of(name: str) -> tuple[str, str]:
    """Return the DAGs of a connector."""
    return name, name + REPLAY_SUFFIX


@dataclass(frozen=True)
class _Dags:
    """What Airflow has of some DAGs. ``paused``: whether each is, without those that it has not read. ``active``: those of
    which a run is active. ``stale``: those that it takes for gone, whose runs do not end.
    """

    paused: Mapping[str, bool] = field(default_factory=dict)
    active: frozenset[str] = frozenset()
    stale: frozenset[str] = frozenset()

    @classmethod
    def read(cls, session: Session, dag_ids: Collection[str]) -> _Dags:
        columns = (DagModel.dag_id, DagModel.is_paused, DagModel.is_stale)
        rows = session.execute(select(*columns).where(DagModel.dag_id.in_(dag_ids))).all()
        runs = select(DagRun.dag_id).where(DagRun.dag_id.in_(dag_ids), DagRun.state == DagRunState.RUNNING)
        return cls(
            {dag_id: bool(is_paused) for dag_id, is_paused, _ in rows},
            frozenset(session.scalars(runs)),
            frozenset(dag_id for dag_id, _, is_stale in rows if is_stale),
        )


def _settle(session: Session, name: str, mark: ConnectorRow, dags: _Dags) -> bool:
    wanted = mark.text.removeprefix(WANTED)
    if wanted == DELETED:
        return _delete(session, name, mark, dags)
    is_paused = dags.paused.get(name)
    if is_paused is None:
        return False  # Airflow has not read it
    if wanted == RUNNING:
        return connector_store.change_mark(session, name, mark, None) and _set_paused(session, name, False)
    if wanted not in (PAUSED, STOPPED):
        return False
    if name in dags.active:
        # paused in Airflow, or by a request at the moment in which the run began: as it is, it would never end
        return is_paused and _change(session, name, mark, WANTED + wanted) and _set_paused(session, name, False)
    if mark.text == wanted:
        return not is_paused and connector_store.change_mark(session, name, mark, None)  # unpaused in Airflow
    return connector_store.change_mark(session, name, mark, wanted) and _set_paused(session, name, True)


def _delete(session: Session, name: str, mark: ConnectorRow, dags: _Dags) -> bool:
    own = set(dags_of(name))
    if active := (dags.active & own) - dags.stale:
        # a run ends if its DAG is not paused, and none begins where it is
        wrong = [one for one in sorted(own) if dags.paused.get(one, one not in active) == (one in active)]
        return bool([_set_paused(session, one, one not in active) for one in wrong])
    if not connector_store.change_mark(session, name, mark, None):
        return False
    connector_store.remove(session, name)
    forget(session, name, dags_of(name))
    # Airflow itself takes two minutes to see that a DAG is gone
    session.execute(update(DagModel).where(DagModel.dag_id.in_(own)).values(is_stale=True))
    _set_paused(session, name, True)
    _set_paused(session, name + REPLAY_SUFFIX, False)  # as one that is new
    end_runs(session, name, DagRunState.QUEUED, DagRunState.RUNNING)
    return True


def end_runs(session: Session, name: str, *states: DagRunState) -> None:
    """Let runs of a connector in these states be failed ones."""
    chosen = (_RUNS.c.dag_id.in_(dags_of(name)), _RUNS.c.state.in_(states))
    session.execute(update(_RUNS).where(*chosen).values(state=DagRunState.FAILED))


def _change(session: Session, name: str, mark: ConnectorRow, text: str) -> bool:
    return mark.text == text or connector_store.change_mark(session, name, mark, text)


def _set_paused(session: Session, dag_id: str, is_paused: bool) -> bool:
    session.execute(update(DagModel).where(DagModel.dag_id == dag_id).values(is_paused=is_paused))
    return True


# What Airflow's database has of a connector's assets: which DAG writes them, and which of them its alias stands for.


def forget(session: Session, name: str, dag_ids: Collection[str]) -> None:
    """Remove what ties assets to a connector that is removed.

    Airflow's scheduler then takes those that no other DAG names out of its list; their events stay. It does not see by
    itself that a DAG is gone, and keeps what an alias stands for.
    """
    session.execute(delete(TaskOutletAssetReference).where(TaskOutletAssetReference.dag_id.in_(dag_ids)))
    alias = select(AssetAliasModel.id).where(AssetAliasModel.name == ALIAS_PREFIX + name).scalar_subquery()
    session.execute(delete(alias_association_table).where(alias_association_table.c.alias_id == alias))
