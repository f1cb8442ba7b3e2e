"""Finding the deployment's key: the environment, else a connection, else Airflow's Fernet key."""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING

from floe.config.secrets.deployment_key import CONN_ID, FERNET_VARIABLE, VARIABLE
from floe.model.plan_seal import DeploymentKey, RunName
from floe.operators.failures import keep_secret

if TYPE_CHECKING:
    from airflow.sdk import Context

FERNET_BYTES = 32


def deployment_key() -> DeploymentKey | None:
    """Return the key of this deployment; None where it has none. Raises SealBroken for a key that is too short.

    From here on it is hidden in what this task logs and raises.
    """
    for find, origin in (
        (_variable, f"the environment variable {VARIABLE}"),
        (_password, f"the password of the Airflow connection {CONN_ID!r}"),
        (_fernet_key, f"Airflow's Fernet key ({FERNET_VARIABLE})"),
    ):
        text = find()
        if text:
            for part in text.split(","):
                keep_secret({VARIABLE: part.strip()})
            return DeploymentKey.of(text, origin)
    return None


def run_name(context: Context) -> RunName:
    """Name the run of a task."""
    return RunName(context["ti"].dag_id, context["ti"].run_id)


def _variable() -> str | None:
    return os.environ.get(VARIABLE)


def _password() -> str | None:
    from airflow.sdk import BaseHook
    from airflow.sdk.exceptions import AirflowNotFoundException

    try:
        password: str | None = BaseHook.get_connection(CONN_ID).password
    except AirflowNotFoundException:
        return None  # any other error is raised: a key that cannot be read now is not a key that is not there
    return password


def _fernet_key() -> str | None:
    """Return Airflow's Fernet keys; None where one of them is none.

    A worker without an ``airflow.cfg`` of its own reads the template's placeholder ``{FERNET_KEY}`` here.
    """
    from airflow.sdk.configuration import conf

    found: str = conf.get("core", "fernet_key", fallback="") or ""
    return found if all(_is_fernet_key(part.strip()) for part in found.split(",")) else None


def _is_fernet_key(text: str) -> bool:
    """Whether a text is 32 bytes in URL-safe base64, as the Fernet specification has it."""
    try:
        return len(base64.b64decode(text, altchars=b"-_", validate=True)) == FERNET_BYTES
    except ValueError:
        return False
