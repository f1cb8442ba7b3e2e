"""Airflow's health, as its ``/api/v2/monitor/health`` answers it, asked of the database and kept for some seconds."""

from __future__ import annotations

import threading
import time
from typing import Final

from airflow.api.common.airflow_health import get_airflow_health

from floe.status.airflow_health import AirflowHealth

SECONDS: Final = 5.0
"""How long an answer counts: every page that is open asks, and every call of a status."""

FIRST_WITHIN: Final = 5.0
"""Seconds for which calls wait for the first answer of all."""

_lock = threading.Lock()
_last: tuple[float, AirflowHealth] | None = None


def airflow_health() -> AirflowHealth:
    """Return Airflow's health, at most some seconds old, or while another call asks for it, as it was before.

    Whoever asks needs a connection of the pool beside the call's own. Calls that waited for the answer would keep theirs.
    """
    global _last
    known = _last
    if known is not None and time.monotonic() - known[0] <= SECONDS:
        return known[1]
    if not _lock.acquire(timeout=FIRST_WITHIN if known is None else 0):
        return AirflowHealth((), has_database=False) if known is None else known[1]
    try:
        if _last is known:
            _last = time.monotonic(), AirflowHealth.of(get_airflow_health())
        return _last[1] if _last is not None else AirflowHealth((), has_database=False)
    finally:
        _lock.release()


def forget() -> None:
    """Ask again at the next call."""
    global _last
    _last = None
