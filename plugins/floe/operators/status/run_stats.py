"""What a run does, by Airflow's own metrics: StatsD, Datadog or OpenTelemetry, as the deployment has it set.

Names are ``floe.<connector>.<what>``, with the connector as a tag too. Without metrics in Airflow nothing is sent.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from floe.commit.run_commit import CommitReport
    from floe.config import Connector

log = logging.getLogger(__name__)


@contextmanager
def task_time(connector: Connector | None, context: object) -> Iterator[None]:
    """Send how long a connector's task takes, ``<task>.duration`` in ms, however it ends; count it if it is a retry."""
    ti = context.get("ti") if isinstance(context, Mapping) else None
    if connector is None or ti is None:
        yield
        return
    name, tags = connector.name, {"task": str(getattr(ti, "task_id", "")), "dag": str(getattr(ti, "dag_id", ""))}
    if getattr(ti, "try_number", 1) > 1:
        count(name, {"retries": 1}, **tags)
    began = time.monotonic()
    try:
        yield
    finally:
        _sent("timing", name, f"{tags['task']}.duration", (time.monotonic() - began) * 1000, tags)


def count(connector: str, counts: Mapping[str, int], **tags: str) -> None:
    """Add to counters of a connector; those that are 0 are not sent."""
    for name, number in counts.items():
        if number:
            _sent("incr", connector, name, number, tags)


def count_commit(connector: str, report: CommitReport, reasons: Mapping[str, int], dead_letters: str | None) -> None:
    """Add what a commit added to its tables, and the dead letters of the run; nothing that an earlier try committed."""
    counts: Counter[str] = Counter()
    for done in report.committed:
        files = done.table_files
        if done.already or files.table == dead_letters:
            continue
        data_files = [file for spec in files.files for file in spec.files]
        counts["rows"] += done.counts.rows
        counts["files"] += len(data_files)
        counts["bytes"] += sum(file.file_size_in_bytes for file in data_files)
    counts["commits"] += 0 if report.done else 1
    counts["dead_letters"] += 0 if report.done else sum(reasons.values())
    count(connector, counts)


def _sent(kind: str, connector: str, name: str, value: Any, tags: Mapping[str, str]) -> None:
    from airflow.sdk.observability import stats

    try:
        of_connector = stats.normalize_name_for_stats(connector, log_warning=False)
        getattr(stats, kind)(f"floe.{of_connector}.{name}", value, tags={"connector": of_connector, **tags})
    except Exception as error:  # noqa: BLE001 - no metric may fail a task
        log.debug("the metric %s was not sent: %s: %s", name, type(error).__name__, error)
