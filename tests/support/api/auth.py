"""An auth manager with Airflow's four roles, and two users who may read some DAGs only: a stub of one that grants by DAG."""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

GRANTS: dict[str, frozenset[str]] = {"other": frozenset({"payments"}), "stranger": frozenset()}
"""DAGs by user; other users have what their role gives them."""


class GrantsByDag(SimpleAuthManager):
    """What the roles give, and to users with grants on the DAGs of their grants only."""

    def is_authorized_dag(self, *, user: Any, details: Any = None, **more: Any) -> bool:
        granted = GRANTS.get(user.username)
        if granted is not None and (details is None or details.id not in granted):
            return False
        return super().is_authorized_dag(user=user, details=details, **more)
