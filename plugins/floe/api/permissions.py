"""What a user may see and do, as Airflow's auth manager says of the connector's DAGs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import TYPE_CHECKING

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.models.dag import DagModel
from sqlalchemy.orm import Session

from floe.config.names import REPLAY_SUFFIX

if TYPE_CHECKING:
    from airflow.api_fastapi.auth.managers.base_auth_manager import ResourceMethod


def readable(user: BaseUser, dag_ids: Collection[str], session: Session) -> set[str]:
    """Return those of the DAGs that the user may read."""
    teams = DagModel.get_dag_id_to_team_name_mapping(list(dag_ids), session=session)
    by_team: dict[str | None, set[str]] = defaultdict(set)
    for dag_id in dag_ids:
        by_team[teams.get(dag_id)].add(dag_id)
    manager = get_auth_manager()
    found: set[str] = set()
    for team, ids in by_team.items():
        found |= manager.filter_authorized_dag_ids(dag_ids=ids, user=user, method="GET", team_name=team)
    return found


def with_records(user: BaseUser, dag_ids: Collection[str], session: Session) -> set[str]:
    """Return those of the DAGs whose task logs the user may read, which quote records."""
    teams = DagModel.get_dag_id_to_team_name_mapping(list(dag_ids), session=session)
    return {dag_id for dag_id in dag_ids if _may(user, dag_id, teams.get(dag_id), "GET", DagAccessEntity.TASK_LOGS)}


def rights(user: BaseUser, connector: str, session: Session) -> dict[str, bool]:
    """Return what the user may do with a connector, by the names of the page's buttons.

    ``records``: see bytes of records, which are in the task logs too.
    """
    replay = connector + REPLAY_SUFFIX
    teams = DagModel.get_dag_id_to_team_name_mapping([connector, replay], session=session)

    def may(dag_id: str, method: ResourceMethod, entity: DagAccessEntity | None = None) -> bool:
        return _may(user, dag_id, teams.get(dag_id), method, entity)

    return {
        "run": may(connector, "POST", DagAccessEntity.RUN),
        "pause": may(connector, "PUT"),
        "replay": may(replay, "POST", DagAccessEntity.RUN),
        "records": may(connector, "GET", DagAccessEntity.TASK_LOGS),
    }


def _may(
    user: BaseUser, dag_id: str, team: str | None, method: ResourceMethod, entity: DagAccessEntity | None = None
) -> bool:
    details = DagDetails(id=dag_id, team_name=team)
    return get_auth_manager().is_authorized_dag(method=method, access_entity=entity, details=details, user=user)
