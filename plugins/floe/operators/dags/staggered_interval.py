"""The timetable of connectors that run every interval: each at a second of the minute that is its own."""

from __future__ import annotations

import hashlib
import math
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.timetables.base import Timetable
from airflow.timetables.trigger import DeltaTriggerTimetable
from pendulum import DateTime

_MINUTE_MS = 60_000


class StaggeredInterval(DeltaTriggerTimetable):
    """Runs every ``delta``, at a point of the minute that follows from ``name``.

    Connectors that were unpaused together, or that are all overdue after Airflow was down, would begin at the same moment
    ever after. The first run after that begins at once, as with Airflow's own timetable; those behind it at the
    connector's second. An interval that is no multiple of a minute has the largest grid that fits both.
    """

    def __init__(self, delta: timedelta, name: str) -> None:
        super().__init__(delta)
        self._name = name
        self._milliseconds = round(delta / timedelta(milliseconds=1))
        self._step = math.gcd(self._milliseconds, _MINUTE_MS)
        digest = hashlib.sha256(name.encode(errors="surrogatepass")).digest()
        self._phase = int.from_bytes(digest[:8]) % self._step

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> Timetable:
        """Make the timetable of a stored DAG, for Airflow."""
        return cls(timedelta(milliseconds=data["interval_ms"]), data["name"])

    def serialize(self) -> dict[str, Any]:
        """Return what Airflow stores."""
        return {"interval_ms": self._milliseconds, "name": self._name}

    def _get_next(self, current: DateTime) -> DateTime:
        return self._floor(super()._get_next(current))

    def _align_to_prev(self, current: DateTime) -> DateTime:
        return self._floor(current)

    def _floor(self, moment: DateTime) -> DateTime:
        """Return the connector's point at or before a moment."""
        late = (math.floor(moment.timestamp() * 1000) - self._phase) % self._step
        whole = datetime.fromtimestamp(math.floor(moment.timestamp() * 1000 - late) / 1000, UTC)
        return DateTime.instance(whole)
