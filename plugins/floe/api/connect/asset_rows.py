"""What Airflow's database has of a connector's assets: which DAG writes them, and which of them its alias stands for."""

from __future__ import annotations

from collections.abc import Collection

from airflow.models.asset import AssetAliasModel, TaskOutletAssetReference, alias_association_table
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from floe.config.names import ALIAS_PREFIX


def forget(session: Session, name: str, dag_ids: Collection[str]) -> None:
    """Remove what ties assets to a connector that is removed.

    Airflow's scheduler then takes those that no other DAG names out of its list; their events stay. It does not see by
    itself that a DAG is gone, and keeps what an alias stands for.
    """
    session.execute(delete(TaskOutletAssetReference).where(TaskOutletAssetReference.dag_id.in_(dag_ids)))
    alias = select(AssetAliasModel.id).where(AssetAliasModel.name == ALIAS_PREFIX + name).scalar_subquery()
    session.execute(delete(alias_association_table).where(alias_association_table.c.alias_id == alias))
