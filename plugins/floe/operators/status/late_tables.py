"""Alerts of late tables: one when a table becomes late, and a line of the log when it is not late any more.

An alert is noted in the status record before it is given, so that there is one, whatever the callback does. The task that
gives it fails in the end: Airflow's own alerts see that, also where a callback cannot be called.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from floe.config.secrets.mask import clip, hide
from floe.operators.callbacks import loaded
from floe.operators.exceptions import TablesLate
from floe.status.freshness import Freshness, TableFreshness, freshness_of

if TYPE_CHECKING:
    from airflow.sdk import Context

    from floe.config import Connector
    from floe.config.sections.dag import CallbackPath
    from floe.status.record import StatusRecord

log = logging.getLogger(__name__)

MAX_SHOWN = 5
"""Tables of a connector that an alert names."""

MAX_CONNECTORS = 20
"""Connectors that the error names."""


class Alert(NamedTuple):
    """What is said of a connector, and what it wants called for it."""

    text: str
    callback: CallbackPath | None


class LateTables:
    """Follows the tables of all connectors in one run of ``floe.status``."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._alerts: dict[str, Alert] = {}

    def follow(
        self, record: StatusRecord, found: StatusRecord, latest: StatusRecord | None, connector: Connector | None
    ) -> StatusRecord:
        """Return the record that is to be kept with the freshness that was ``found``, and remember what to alert of.

        ``latest``: the record that is kept. ``connector``: None where its file is broken; then the former limit counts.
        """
        former = None if latest is None else latest.freshness
        max_ms = (former.max_ms if former else None) if connector is None else connector.freshness_max_ms
        if max_ms is None:
            return replace(record, freshness=None)
        names = _names(found, latest, connector)
        now = freshness_of(names, found.status, found.lag_seconds, max_ms, former)
        _log_recovered(record.status.name, former, now)
        if not now.unalerted or self._is_paused(record.status.name):
            return replace(record, freshness=now)
        callback = None if connector is None else connector.dag.on_failure
        self._alerts[record.status.name] = Alert(_text(record, now), callback)
        return replace(record, freshness=now.with_alerts())

    def not_kept(self, name: str) -> None:
        """Forget an alert that is not in a kept record: the next run finds the tables late again."""
        self._alerts.pop(name, None)

    def alert(self) -> None:
        """Call the callbacks of connectors with newly late tables. Raises TablesLate if there is one."""
        if not self._alerts:
            return
        texts = [alert.text for _, alert in sorted(self._alerts.items())]
        more = len(texts) - MAX_CONNECTORS
        error = TablesLate("\n".join([*texts[:MAX_CONNECTORS], *([f"and {more} more connectors"] if more > 0 else [])]))
        for alert in self._alerts.values():
            if alert.callback is not None:
                self._call(alert.callback, TablesLate(alert.text))
        raise error

    def _call(self, callback: CallbackPath, error: TablesLate) -> None:
        context: Any = {**self._context, "exception": error, "reason": str(error)}
        try:
            loaded(callback)(context)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the alerts of the others are given
            why = clip(" ".join(hide(f"{type(problem).__name__}: {problem}").split()), 500)
            log.error("%s failed, this task's own failure is the alert: %s", callback, why)

    def _is_paused(self, name: str) -> bool:
        """Whether the connector's DAG is paused: then its late tables are shown, and an alert is given when it is resumed."""
        ti: Any = self._context["ti"]
        try:
            return bool(ti.get_dag(name).is_paused)
        except Exception as error:  # noqa: BLE001 - one alert too many is better than none
            log.warning("Airflow does not say whether %s is paused: %s", name, clip(str(error), 200))
            return False


def _names(found: StatusRecord, latest: StatusRecord | None, connector: Connector | None) -> list[str]:
    """Return the tables of a connector but the dead-letter table, which only gets what others refuse."""
    dead_letters = None if connector is None else connector.errors.table
    known = found.status.tables or (latest.status.tables if latest else None) or ()
    names = [one.name for one in known if one.name != dead_letters]
    if names or connector is None:
        return names
    return list(connector.tables) or [connector.destination]


def _log_recovered(name: str, former: Freshness | None, now: Freshness) -> None:
    late = {one.table for one in now.late}
    recovered = [one.table for one in (former.late if former else ()) if one.is_alerted and one.table not in late]
    if recovered and not now.more:
        log.info("%s: no longer late: %s", name, _listed(recovered))


def _text(record: StatusRecord, now: Freshness) -> str:
    """Say which tables are late, since when, and what to do."""
    late = now.unalerted
    first = late[0]
    status = record.status
    limit = f"floe.freshness.max-ms ({now.max_ms:,} ms)"
    return (
        f"{status.name}: late by {limit}: {_listed([one.table for one in late], now.more)}. All records are there up to "
        f"{first.through.isoformat(timespec='seconds')} only. {_next_step(record, first, now)}"
    )


def _next_step(record: StatusRecord, first: TableFreshness, now: Freshness) -> str:
    status = record.status
    if status.partitions is None:
        return f"Where it is now is not known: {clip('; '.join(status.problems), 200)}"
    if now.through is not None and first.through < now.through:
        return "The table is behind the others: the connector's runs fail with the reason"
    return (
        f"{status.lag or 0:,} records are unread: look whether the connector's runs fail, take too long or do not start"
    )


def _listed(names: list[str], more: int = 0) -> str:
    left = len(names) - MAX_SHOWN + more if len(names) > MAX_SHOWN else more
    shown = ", ".join(clip(name, 200) for name in names[:MAX_SHOWN])
    return f"{shown} and {left} more" if left else shown
