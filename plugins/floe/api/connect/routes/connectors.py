"""Routes of connectors: listing, making, configuration, deleting."""

from __future__ import annotations

import json
from typing import Annotated, Any
from urllib.parse import quote

from airflow.api_fastapi.common.db.common import SessionDep
from fastapi import APIRouter, Depends, Query, Request, Response

from floe.api.access import Caller, readable
from floe.api.connect import connector_changes
from floe.api.connect.access import readable_connector, readable_connectors, require_change, require_dag, require_new
from floe.api.connect.connector_states import TYPE, States, status_of, tasks_of
from floe.api.connect.connector_store import KnownConnector, known_connectors
from floe.api.connect.http import ConnectError, answer, json_body, scalar_text, text_map
from floe.api.connect.validation import NULL
from floe.api.connect.wanted_states import leaving
from floe.config.stored.stored_connector import name_problems, shown_config

router = APIRouter(prefix="/connectors")
JsonBody = Annotated[Any, Depends(json_body)]


@router.get("")
def connectors(user: Caller, session: SessionDep, expand: Annotated[list[str] | None, Query()] = None) -> Response:
    """List the connectors that the caller may read; with ``expand=status`` and ``expand=info`` what is known of each."""
    known = readable_connectors(user, session)
    if expand is None:
        return answer(list(known))
    states = States.read(session, list(known))
    return answer({name: _expanded(one, states, expand) for name, one in known.items()})


def _expanded(known: KnownConnector, states: States, expand: list[str]) -> dict[str, Any]:
    made = {"status": lambda: status_of(known, states), "info": lambda: _info(known, states)}
    return {one: made[one]() for one in expand if one in made}


@router.post("")
def create(user: Caller, session: SessionDep, body: JsonBody, request: Request) -> Response:
    """Make a connector."""
    if not isinstance(body, dict):
        msg = "The body must be a JSON object with name and config"
        raise ConnectError(400, msg)
    if unknown := body.keys() - {"name", "config", "initial_state"}:
        msg = f"Unrecognized field {json.dumps(min(unknown))[:200]}: the body has name, config and initial_state"
        raise ConnectError(400, msg)
    given = _config(body.get("config"), "config")
    name = _field(body, "name", "").strip()
    initial_state = _field(body, "initial_state", "RUNNING").upper()
    if initial_state not in connector_changes.INITIAL:
        msg = f"initial_state {initial_state[:100]!r} is none of {', '.join(connector_changes.INITIAL)}"
        raise ConnectError(400, msg)
    config = _named(name, given)
    require_new(user, session, name)
    connector_changes.create(session, user, name, config, initial_state)
    path = f"{request.scope.get('root_path', '')}/connectors/{quote(name)}"
    return answer(_info_of(session, name), 201, {"Location": path})


def _field(body: dict[str, Any], field: str, default: str) -> str:
    """Return a field of the body; the default where it is missing or null. Raises ConnectError (400) where it is no text."""
    value = body.get(field)
    if isinstance(value, dict | list):
        msg = f"{field} must be a text"
        raise ConnectError(400, msg)
    text = scalar_text(value)
    return default if text is None else text


@router.get("/{name}")
def connector(name: str, user: Caller, session: SessionDep) -> Response:
    """Describe a connector."""
    known = readable_connector(user, session, name)
    return answer(_info(known, States.read(session, [name])))


@router.delete("/{name}")
def delete(name: str, user: Caller, session: SessionDep) -> Response:
    """Delete a connector that REST made; its DAG goes, its history and its tables stay."""
    known = readable_connector(user, session, name)
    if known.row is not None:
        require_change(user, name, "DELETE")
    require_dag(user, session, name, "DELETE")
    connector_changes.delete(session, user, known)
    return Response(status_code=204)


@router.get("/{name}/config")
def config(name: str, user: Caller, session: SessionDep) -> Response:
    """Return the configuration, with references in the place of secrets."""
    known = readable_connector(user, session, name)
    return answer(shown_config(name, known.config))


@router.put("/{name}/config")
def put_config(name: str, user: Caller, session: SessionDep, body: JsonBody, request: Request) -> Response:
    """Give a connector a configuration, or make it."""
    config = _named(name, _config(body, "The body"))
    known = known_connectors(session, name).get(name)
    if known is not None and name in readable(user, [name], session) - leaving(session, name):
        if known.row is not None:
            require_change(user, name, "PUT")
        require_dag(user, session, name, "PUT")
        connector_changes.replace(session, user, known, config)
        return answer(_info_of(session, name))
    require_new(user, session, name)
    connector_changes.create(session, user, name, config)
    path = f"{request.scope.get('root_path', '')}/connectors/{quote(name)}"
    return answer(_info_of(session, name), 201, {"Location": path})


@router.patch("/{name}/config")
def patch_config(name: str, user: Caller, session: SessionDep, body: JsonBody) -> Response:
    """Change some keys of a configuration; null removes one."""
    known = readable_connector(user, session, name)
    changes = text_map(body, "The body")
    merged: dict[str, str | None] = {**shown_config(name, known.config), **changes}
    config = _named(name, {key: value for key, value in merged.items() if value is not None})
    if known.row is not None:
        require_change(user, name, "PUT")
    require_dag(user, session, name, "PUT")
    connector_changes.replace(session, user, known, config)
    return answer(_info_of(session, name))


@router.get("/{name}/status")
def status(name: str, user: Caller, session: SessionDep) -> Response:
    """Return the states of a connector and of its tasks."""
    known = readable_connector(user, session, name, f"No status found for connector {name}")
    return answer(status_of(known, States.read(session, [name])))


@router.get("/{name}/tasks")
def tasks(name: str, user: Caller, session: SessionDep) -> Response:
    """List the tasks with their configuration, which is the connector's."""
    known = readable_connector(user, session, name)
    numbers = range(tasks_of(known, States.read(session, [name])))
    shown = shown_config(name, known.config)
    return answer([{"id": _task(name, number), "config": {**shown, "task.id": str(number)}} for number in numbers])


def _info_of(session: SessionDep, name: str) -> dict[str, Any]:
    known = known_connectors(session, name).get(name)
    if known is None:
        msg = f"Connector {name} was deleted at the same time"
        raise ConnectError(409, msg)
    return _info(known, States.read(session, [name]))


def _info(known: KnownConnector, states: States) -> dict[str, Any]:
    number = tasks_of(known, states)
    return {
        "name": known.name,
        "config": shown_config(known.name, known.config),
        "tasks": [_task(known.name, one) for one in range(number)],
        "type": TYPE,
    }


def _task(name: str, number: int) -> dict[str, Any]:
    return {"connector": name, "task": number}


def _config(value: object, what: str) -> dict[str, str]:
    found = text_map(value, what)
    missing = [key for key, one in found.items() if one is None]
    if missing:
        msg = f"{what}: {NULL.format(key=missing[0][:200])}"
        raise ConnectError(400, msg)
    return {key: one for key, one in found.items() if one is not None}


def _named(name: str, config: dict[str, str]) -> dict[str, str]:
    """Return the configuration with its name. Raises ConnectError (400) for another one, and for one that none may have."""
    inner = config.get("name", name)
    if inner != name:
        msg = f"Connector name configuration ({inner[:200]}) doesn't match connector name in the URL ({name[:200]})"
        raise ConnectError(400, msg)
    if problems := name_problems(name):
        raise connector_changes.invalid(tuple(problems), config)
    return {**config, "name": name}
