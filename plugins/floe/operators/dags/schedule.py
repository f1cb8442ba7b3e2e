"""When runs of a connector begin, for Airflow."""

from __future__ import annotations

import hashlib
import math
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import Asset, CronTriggerTimetable
from airflow.timetables.base import Timetable
from airflow.timetables.trigger import DeltaTriggerTimetable
from pendulum import DateTime

from floe.config.names import TABLE_SCHEME
from floe.config.sections.dag import Schedule


def airflow_schedule(schedule: Schedule, interval_ms: int, name: str) -> Any:
    """Return the ``schedule`` of a connector's DAG: a timetable, assets, or None for triggers only.

    Tables of floe's are assets by name too, so that a DAG may wait for one that only records name. Another asset may have
    any name: it is the one that some DAG defines with this URI.
    """
    if schedule.is_manual:
        return None
    if schedule.assets:
        return [
            Asset(Asset(uri).uri) if uri.startswith(TABLE_SCHEME) else Asset.ref(uri=uri) for uri in schedule.assets
        ]
    if schedule.cron:
        return CronTriggerTimetable(schedule.cron, timezone=schedule.timezone)
    return StaggeredInterval(timedelta(milliseconds=interval_ms), name)


def shown_schedule(schedule: Schedule, interval_ms: int) -> str:
    """Say when runs begin, for people."""
    if schedule.is_manual:
        return "when it is triggered"
    if schedule.assets:
        return f"after {' and '.join(schedule.assets)} were updated"
    if schedule.cron:
        return f"by the schedule {schedule.cron} ({schedule.timezone})"
    minutes, seconds = divmod(interval_ms / 1000, 60)
    if minutes >= 1 and not seconds:
        return "every minute" if minutes == 1 else f"every {minutes:g} minutes"
    return "every second" if interval_ms == 1000 else f"every {interval_ms / 1000:g} seconds"


# The timetable of connectors that run every interval: each at a second of the minute that is its own.


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
