"""Connectors whose runs fail, for ``floe.status``: what Airflow says of their last scheduled runs, asked by its Task SDK.

Only runs that have a date are known here; floe's page, which asks the database, knows those that were triggered too.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from floe.config.secrets.mask import clip, hide
from floe.operators.failures import FAILURE_KEY
from floe.operators.task_context import COMMIT_TASK, PLAN_TASK, WRITE_TASK

if TYPE_CHECKING:
    from airflow.sdk import Context

log = logging.getLogger(__name__)

SECONDS: Final = 5.0
"""For all connectors together."""

_TASKS: Final = (PLAN_TASK, WRITE_TASK, COMMIT_TASK)
_SHOWN: Final = 500

_LOOKS: Final = ("dry_run", "diagnose")
_MOST_LOOKS: Final = 10
"""Runs that only look and are passed over, before the next one counts, whatever it did."""


def failing(context: Context, names: Iterable[str]) -> dict[str, str]:
    """Return what is to be said of connectors whose last scheduled run that ended has failed. Nothing is raised."""
    until = time.monotonic() + SECONDS
    found: dict[str, str] = {}
    for name in names:
        if time.monotonic() > until:
            log.warning("Airflow was not asked about the runs of %s and of those behind it: it takes too long", name)
            break
        try:
            text = _failing(context, name)
        except Exception as error:  # noqa: BLE001 - the status is kept, whatever Airflow does not say
            log.warning("Airflow does not say how the runs of %s, and of those behind it, are: %s", name, _why(error))
            break
        if text is not None:
            found[name] = text
    return found


def _failing(context: Context, name: str) -> str | None:
    failed, good = (_last_run(name, state) for state in ("failed", "success"))
    if failed is None or (good is not None and good.logical_date > failed.logical_date):
        return None
    try:
        left = context["ti"].xcom_pull(
            task_ids=list(_TASKS), dag_id=name, run_id=failed.run_id, key=FAILURE_KEY, map_indexes=None
        )
    except Exception as error:  # noqa: BLE001 - whatever is kept there, it is this connector's alone
        log.warning("The error of run %s of %s cannot be read: %s", failed.run_id, name, _why(error))
        left = None
    errors = [one for one in (left if isinstance(left, list | tuple) else (left,)) if isinstance(one, str)]
    text = clip(" ".join(hide(errors[0]).split()), _SHOWN) if errors else f"see the log of its run {failed.run_id}"
    since = "no run has succeeded yet" if good is None else f"the last good run ended at {_time(good.end_date)}"
    return f"runs fail, {since}; the last one failed at {_time(failed.end_date)}: {text}"


def _why(error: Exception) -> str:
    return clip(" ".join(hide(f"{type(error).__name__}: {error}").split()), 200)


def _last_run(name: str, state: str) -> Any:
    """Return the last run of a DAG that has a date and ended so; None without one.

    A dry run or a diagnosis says nothing of the connector: the run before it counts.
    """
    from airflow.sdk.execution_time.comms import GetPreviousDagRun
    from airflow.sdk.execution_time.task_runner import SUPERVISOR_COMMS

    before = datetime.now(UTC)
    for _ in range(_MOST_LOOKS):
        answer: Any = SUPERVISOR_COMMS.send(GetPreviousDagRun(dag_id=name, logical_date=before, state=state))
        run = answer.dag_run
        if run is None or not any((run.conf or {}).get(one) for one in _LOOKS):
            return run
        before = run.logical_date
    return run


def _time(moment: datetime | None) -> str:
    return "a time that Airflow does not know" if moment is None else moment.isoformat(timespec="seconds")
