"""Connections and variables of Airflow, as ``airflow connections get`` finds them: environment, secrets backends, database.

Without Airflow in this Python, or where none is configured, connections are read from the environment only, in JSON.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from floe.cli.output import NotLookedUp, NotUsable
from floe.config.connection_fields import ConnectionFields
from floe.config.secrets.mask import hide, learn

_TEXTS: Final = ("conn_type", "host", "schema", "login", "password")
_CONNECTION, _VARIABLE = "AIRFLOW_CONN_", "AIRFLOW_VAR_"
_CONTEXT: Final = "_AIRFLOW_PROCESS_CONTEXT"
"""Tells Airflow which stores it may ask; ``server`` is what Airflow's own command line sets."""


def connection(conn_id: str) -> ConnectionFields:
    """Look up a connection; its secrets are hidden from here on. Raises NotLookedUp."""
    text = os.environ.get(_CONNECTION + conn_id.upper())
    if text is not None and text.lstrip().startswith("{"):
        return _from_json(conn_id, text)
    _check_airflow(
        f"the Airflow connection {conn_id!r}", "" if text is None else f", and {_CONNECTION}… is not in JSON"
    )
    from airflow.models import Connection

    found = _asked(f"the Airflow connection {conn_id!r}", lambda: Connection.get_connection_from_secrets(conn_id))
    return _kept(ConnectionFields.of(conn_id, found))


def connection_field(conn_id: str, name: str) -> str | None:
    """Return a field of a connection, ``extra.name`` of its extra; None where it has none. Raises NotLookedUp."""
    found = connection(conn_id)
    inner = name.removeprefix("extra.")
    value = found.extra.get(inner) if inner != name else getattr(found, name, None)
    return None if value is None else str(value)


def variable(name: str, _: str = "") -> str | None:
    """Return a variable; None where there is none. Raises NotLookedUp."""
    text = os.environ.get(_VARIABLE + name.upper())
    if text is not None:
        return text
    _check_airflow(f"the Airflow variable {name!r}")
    from airflow.models import Variable

    found: str | None = _asked(f"the Airflow variable {name!r}", lambda: Variable.get_variable_from_secrets(key=name))
    return found


def dead_parts() -> tuple[str, ...]:
    """Say which parts of Airflow's are not alive; nothing where there is no Airflow to ask."""
    if importlib.util.find_spec("airflow") is None or not is_configured(os.environ):
        return ()
    from floe.status.airflow_health import AirflowHealth

    os.environ[_CONTEXT] = "server"
    try:
        from airflow.api.common.airflow_health import get_airflow_health

        answer = get_airflow_health()
    except Exception as error:  # noqa: BLE001 - whatever keeps Airflow from being asked; it is named
        why = hide(f"{type(error).__name__}: {error}").partition(chr(10))[0][:300]
        return (f"whether Airflow's scheduler is alive was not looked up: {why}",)
    return AirflowHealth.of(answer).texts


def is_configured(environ: Mapping[str, str]) -> bool:
    """Whether there is an Airflow to ask: importing one that is not configured makes a new home folder."""
    home = Path(environ.get("AIRFLOW_HOME") or "~/airflow").expanduser()
    return "AIRFLOW_HOME" in environ or "AIRFLOW_CONFIG" in environ or (home / "airflow.cfg").is_file()


def _check_airflow(what: str, also: str = "") -> None:
    if importlib.util.find_spec("airflow") is None:
        msg = f"{what} was not looked up, as this Python has no Airflow{also}"
        raise NotLookedUp(msg)
    if not is_configured(os.environ):
        msg = f"{what} was not looked up, as no Airflow is configured here (AIRFLOW_HOME){also}"
        raise NotLookedUp(msg)


def _asked(what: str, ask: Callable[[], Any]) -> Any:
    os.environ[_CONTEXT] = "server"
    try:
        return ask()
    except Exception as error:  # noqa: BLE001 - stores of all kinds are asked; it is named
        if type(error).__name__ == "AirflowNotFoundException":
            msg = f"{what} is neither in Airflow's environment nor in its secrets backends nor in its database"
            raise NotUsable(msg) from None
        msg = f"{what} was not looked up: {hide(f'{type(error).__name__}: {error}').partition(chr(10))[0][:300]}"
        raise NotLookedUp(msg) from None


def _from_json(conn_id: str, text: str) -> ConnectionFields:
    """Read a connection as Airflow's environment variables have it."""
    try:
        fields = json.loads(text)
        extra = fields.get("extra") or {}
        extra = json.loads(extra) if isinstance(extra, str) else extra
        port = fields.get("port")
        texts = {name: str(fields.get(name) or "") for name in _TEXTS}
        number = None if port in (None, "") else int(port)
    except (ValueError, TypeError, AttributeError, RecursionError):
        msg = f"{_CONNECTION}{conn_id.upper()} is no connection in JSON"
        raise NotUsable(msg) from None
    if not isinstance(extra, dict):
        msg = f"the extra in {_CONNECTION}{conn_id.upper()} is no object"
        raise NotUsable(msg)
    return _kept(ConnectionFields(conn_id, port=number, extra=extra, **texts))


def _kept(fields: ConnectionFields) -> ConnectionFields:
    learn({"password": fields.password, "extra": dict(fields.extra)})
    return fields
