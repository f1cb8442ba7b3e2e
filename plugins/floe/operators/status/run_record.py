"""The status record at the end of a run: what the run knows, over what the former record says. Nothing is looked up."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from floe.config.secrets.mask import clip
from floe.operators.status import store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from floe.commit.run_commit import CommitReport
    from floe.config import Connector
    from floe.model.plan import Plan
    from floe.status.model import CommitStatus, ConnectorStatus

log = logging.getLogger(__name__)


def keep(
    connector: Connector, status: ConnectorStatus | None, plan: Plan | None = None, report: CommitReport | None = None
) -> None:
    """Keep where a connector is after a run of its own, as far as that was found out; never raises.

    ``status``: what the task has looked up, None where it has not. ``report``: what it committed of ``plan``.
    """
    if status is None:
        return
    began = time.monotonic()
    try:
        from floe.status.record_reader import record_after_run

        commits = {} if plan is None or report is None else _commits(plan, report, status)
        record = record_after_run(status, store.load(connector.name), commits, connector.errors.table)
        store.save(record)
    except Exception as error:  # noqa: BLE001 - the run is done, whatever keeps its status from being kept
        why = clip(" ".join(f"{type(error).__name__}: {error}".split()), 500)
        log.warning("The status of %s was not kept, which changes nothing else: %s", connector.name, why)
    log.debug("keeping the status took %.0f ms", (time.monotonic() - began) * 1000)


def _commits(plan: Plan, report: CommitReport, status: ConnectorStatus) -> Mapping[str, CommitStatus]:
    """Return the run's last snapshot of each table, as the table itself will say it but for the details."""
    from floe.status.model import CommitStatus

    kinds = {plan.slice_id(slice_): slice_.kind.value for slice_ in plan.slices}
    slice_id, kind = next(iter(kinds.items()), ("", ""))
    found: dict[str, CommitStatus] = {}
    for done in report.committed:
        if done.snapshot_id is None:
            continue
        files = done.table_files
        found[files.table] = CommitStatus(
            done.snapshot_id, status.at, kind, slice_id, done.counts.rows, files.file_count, done.counts.to_json()
        )
    return found
