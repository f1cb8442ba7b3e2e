"""When runs of a connector begin, for Airflow."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import Asset, CronTriggerTimetable

from floe.config.names import TABLE_SCHEME
from floe.config.sections.schedule import Schedule
from floe.operators.dags.staggered_interval import StaggeredInterval


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
