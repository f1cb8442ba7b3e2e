"""Airflow's audit log of what was changed by REST: who, which connector, what; never a value of a configuration."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.models.log import Log
from sqlalchemy.orm import Session

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
