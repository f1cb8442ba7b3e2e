"""Who calls, and what that user may see: by a bearer token, the cookie of a session, or name and password of Airflow."""

from __future__ import annotations

import base64
import binascii
from collections import defaultdict
from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.base_auth_manager import COOKIE_NAME_JWT_TOKEN
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import bearer_scheme, get_user, resolve_user_from_token
from airflow.models.dag import DagModel
from fastapi import Depends, HTTPException, Request, status
from fastapi.security import HTTPAuthorizationCredentials
from httpx import ASGITransport, AsyncClient, HTTPError
from sqlalchemy.orm import Session
from starlette.routing import Mount

from floe.api.lazy_app import ROOT
from floe.config.names import REPLAY_SUFFIX

if TYPE_CHECKING:
    from airflow.api_fastapi.auth.managers.base_auth_manager import ResourceMethod


# Who calls: a user of Airflow's, by a bearer token, by the cookie of a session, or by name and password.
#
# Tools of Kafka Connect and Prometheus send a name and a password with each call (Basic). They are exchanged for a
# token at the auth manager, by the route that people use themselves, ``POST /auth/token``; nothing of them is kept or
# logged.
#
# A browser sends cookies and Basic credentials by itself, also when a foreign page asks it to. So a call that changes
# something must not come from another origin, and with a cookie it must have the header ``X-Floe``, which a foreign
# page cannot send without being asked first.


AUTH_MOUNT = "/auth"

HEADER = "X-Floe"
READS = frozenset({"GET", "HEAD", "OPTIONS"})
SITES = frozenset({"same-origin", "none"})
MAX_BASIC = 4096
"""Characters of a Basic header."""

MAX_SCHEME = 20
"""Characters of a scheme that is shown; a longer one may be a token."""

_CHALLENGE = {"WWW-Authenticate": "Bearer"}  # not Basic: a browser would keep the password, and send it by itself


async def caller(
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer_scheme)],
) -> BaseUser:
    """Return the user who calls; a dependency of all routes.

    Raises HTTPException: 401 without credentials, with wrong ones, and for another scheme than Bearer and Basic, 403 for a
    token that is not valid, or for a call from a foreign page that would change something, 503 where the auth manager fails.
    """
    refuse_foreign(request)
    header = request.headers.get("Authorization")
    scheme, _, credentials = (header or "").partition(" ")
    if scheme.lower() == "basic":
        return await _user_of(request, credentials)
    if header is not None and not (scheme.lower() == "bearer" and credentials.strip()):
        raise _unknown(scheme)  # else the cookie beside it would count, without the header that it needs
    return await get_user(request, None, bearer)


Caller = Annotated[BaseUser, Depends(caller)]


def refuse_foreign(request: Request) -> None:
    """Refuse a call that would change something and that a browser sends for a page of another origin."""
    if request.method in READS:
        return
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    own = f"{request.url.scheme}://{request.url.netloc}"
    if (site is not None and site not in SITES) or (site is None and origin is not None and origin != own):
        detail = "The call comes from a page of another origin. Nothing was changed."
        raise HTTPException(status.HTTP_403_FORBIDDEN, detail)
    by_cookie = COOKIE_NAME_JWT_TOKEN in request.cookies and "Authorization" not in request.headers
    if by_cookie and HEADER not in request.headers:
        detail = (
            f"A call with a session's cookie needs the header {HEADER}. Nothing was changed. Send it, with any value."
        )
        raise HTTPException(status.HTTP_403_FORBIDDEN, detail)


async def _user_of(request: Request, credentials: str) -> BaseUser:
    """Exchange a name and a password for a token, and return its user."""
    name, password = _basic(credentials)
    routes = getattr(request.scope.get(ROOT), "routes", ())
    auth = next((route.app for route in routes if isinstance(route, Mount) and route.path == AUTH_MOUNT), None)
    if auth is None:
        detail = "This auth manager has no POST /auth/token, so it takes no name and password: send a bearer token."
        raise HTTPException(status.HTTP_401_UNAUTHORIZED, detail, _CHALLENGE)
    transport = ASGITransport(auth, raise_app_exceptions=False, client=request.client or ("127.0.0.1", 0))
    try:
        # the app itself is called: neither the host that the caller names nor the path that Airflow is under leads to it
        async with AsyncClient(transport=transport, base_url=f"{request.url.scheme}://localhost") as client:
            answer = await client.post("/token", json={"username": name, "password": password})
    except HTTPError as error:
        raise _failed() from error
    if answer.status_code >= status.HTTP_500_INTERNAL_SERVER_ERROR:
        raise _failed()
    if answer.status_code != status.HTTP_201_CREATED:
        raise _wrong()
    return await resolve_user_from_token(answer.json().get("access_token"))


def _basic(credentials: str) -> tuple[str, str]:
    if len(credentials) > MAX_BASIC:
        raise _wrong()
    try:
        name, colon, password = base64.b64decode(credentials.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise _wrong() from None
    if not (name and colon and password):
        raise _wrong()
    return name, password


def _unknown(scheme: str) -> HTTPException:
    """Return the answer to a header that has neither a token nor a name and a password. What it has may be a secret."""
    shown = repr(scheme) if scheme.isalpha() and len(scheme) <= MAX_SCHEME else "of the header"
    detail = (
        f"The scheme {shown} of Authorization is neither Bearer, with a token, nor Basic. Nothing was changed. Send one of "
        "these, or leave the header out."
    )
    return HTTPException(status.HTTP_401_UNAUTHORIZED, detail, _CHALLENGE)


def _wrong() -> HTTPException:
    """Return one answer for all that is wrong with credentials."""
    return HTTPException(status.HTTP_401_UNAUTHORIZED, "Invalid credentials", _CHALLENGE)


def _failed() -> HTTPException:
    return HTTPException(status.HTTP_503_SERVICE_UNAVAILABLE, "The auth manager could not check the credentials")


# What a user may see and do, as Airflow's auth manager says of the connector's DAGs.


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
