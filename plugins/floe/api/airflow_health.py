"""Airflow's health, as its ``/api/v2/monitor/health`` answers it, asked of the database and kept for some seconds."""

from __future__ import annotations

import threading
import time
from typing import Final

from airflow.api.common.airflow_health import get_airflow_health

from floe.status.airflow_health import AirflowHealth

SECONDS: Final = 5.0
"""How long an answer counts: every page that is open asks, and every call of a status."""

_lock = threading.Lock()
_last: tuple[float, AirflowHealth] | None = None


def airflow_health() -> AirflowHealth:
    """Return Airflow's health, at most some seconds old."""
    global _last
    with _lock:
        now = time.monotonic()
        if _last is None or now - _last[0] > SECONDS:
            _last = now, AirflowHealth.of(get_airflow_health())
        return _last[1]


def forget() -> None:
    """Ask again at the next call."""
    global _last
    _last = None
