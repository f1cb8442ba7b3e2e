"""What the caller may do with a connector: the rights of Airflow on its DAG, and on Variables for those made by REST."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.base_auth_manager import COOKIE_NAME_JWT_TOKEN
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails, VariableDetails
from airflow.models.dag import DagModel
from airflow.models.log import Log
from fastapi import Request
from sqlalchemy import select
from sqlalchemy.orm import Session

from floe.api.access import READS, readable
from floe.api.connect import wanted_states
from floe.api.connect.connector_store import KnownConnector, known_connectors
from floe.api.connect.http import ConnectError
from floe.config.stored.operator_lists import SWITCH, OperatorLists
from floe.config.stored.stored_connector import CONNECTOR

if TYPE_CHECKING:
    from airflow.api_fastapi.auth.managers.base_auth_manager import ResourceMethod


async def no_cookie(request: Request) -> None:
    """Refuse a change by a session's cookie: tools send a token, or a name and a password. A dependency of all routes."""
    if request.method not in READS and "Authorization" not in request.headers:
        known = "a session's cookie" if COOKIE_NAME_JWT_TOKEN in request.cookies else "no credentials"
        msg = (
            f"The request has {known}, and would change something. Nothing was changed. Send a bearer token, or a name and a "
            "password (Basic)."
        )
        raise ConnectError(401, msg)


def readable_connectors(user: BaseUser, session: Session) -> dict[str, KnownConnector]:
    """Return the connectors that the user may read, but those that were deleted."""
    wanted_states.settle_now(session)
    known = known_connectors(session)
    allowed = readable(user, known, session) - wanted_states.leaving(session)
    return {name: one for name, one in known.items() if name in allowed}


def readable_connector(user: BaseUser, session: Session, name: str, unknown: str = "") -> KnownConnector:
    """Return a connector. Raises ConnectError (404) for one that the user may not read, or that was deleted, as for none.

    ``unknown``: the message of that, where it is not the usual one.
    """
    wanted_states.settle_now(session, name)
    known = known_connectors(session, name).get(name)
    unknown = unknown or f"Connector {name} not found"
    if known is None or name not in readable(user, [name], session):
        raise ConnectError(404, unknown)
    if name in wanted_states.leaving(session, name):
        raise ConnectError(
            404, f"{unknown}: it was deleted, and goes when {wanted_states.awaited(session, name)} has ended"
        )
    return known


def require_dag(
    user: BaseUser, session: Session, name: str, method: ResourceMethod, entity: DagAccessEntity | None = None
) -> None:
    """Raise ConnectError (403) unless the user may do something with the connector's DAG."""
    team = DagModel.get_dag_id_to_team_name_mapping([name], session=session).get(name)
    details = DagDetails(id=name, team_name=team)
    if not get_auth_manager().is_authorized_dag(method=method, access_entity=entity, details=details, user=user):
        what = "" if entity is None else f" ({entity.value.lower().replace('_', ' ')})"
        msg = f"Airflow's permission {method} on the DAG {name!r}{what} is missing. Nothing was changed."
        raise ConnectError(403, msg)


def require_change(user: BaseUser, name: str, method: ResourceMethod) -> OperatorLists:
    """Return the operator's lists. Raises ConnectError (403) unless the user may make, change or delete connectors here."""
    lists = OperatorLists.of(os.environ)
    if not lists.is_enabled:
        msg = (
            f"Connectors cannot be made by REST here: the operator sets {SWITCH}=true in the environment of Airflow's "
            "processes. Connectors in files are changed by their files. Nothing was changed."
        )
        raise ConnectError(403, msg)
    _require_variable(user, name, method)
    return lists


def require_maker(user: BaseUser, name: str) -> None:
    """Raise ConnectError (403) unless the user may make connectors, where they can be made by REST."""
    _require_variable(user, name, "POST")


def _require_variable(user: BaseUser, name: str, method: ResourceMethod) -> None:
    details = VariableDetails(key=CONNECTOR + name)
    if not get_auth_manager().is_authorized_variable(method=method, details=details, user=user):
        msg = f"You may not do this: Airflow's permission {method} on Variables is missing. Nothing was changed."
        raise ConnectError(403, msg)


def require_new(user: BaseUser, session: Session, name: str) -> None:
    """Raise ConnectError (403) unless the user may make a connector of this name.

    A DAG of this name may be there from a connector before: with it the new one takes over the history, the positions and
    the rights that others have.
    """
    require_change(user, name, "POST")
    wanted_states.settle_now(session, name)
    if session.scalar(select(DagModel.dag_id).where(DagModel.dag_id == name)) is not None:
        require_dag(user, session, name, "PUT")


# Airflow's audit log of what was changed by REST: who, which connector, what; never a value of a configuration.


PREFIX: Final = "floe.connector."
"""How the names of events begin."""

MAX_ENTRIES: Final = 100
_MAX_KEY: Final = 200
"""Keys, and characters of each, that are kept: a caller may send many and long ones."""


def record(
    session: Session,
    user: BaseUser,
    event: str,
    connector: str,
    *,
    run_id: str | None = None,
    keys: Collection[str] = (),
    **more: Any,
) -> None:
    """Add an entry, which is committed with the change that it is of, or not at all.

    ``keys``: those of the configuration that were changed. ``more``: what else was changed, none of it a secret.
    """
    listed = sorted(key[:_MAX_KEY] for key in keys)
    details = {**({"keys": listed[:MAX_ENTRIES]} if listed else {}), **more}
    if len(listed) > MAX_ENTRIES:
        details["more_keys"] = len(listed) - MAX_ENTRIES
    name = user.get_name()
    entry = Log(
        event=PREFIX + event,
        owner=name,
        owner_display_name=name,
        extra=json.dumps(details),
        dag_id=connector,
        run_id=run_id,
    )
    session.add(entry)
