"""All maintenance jobs, and how one is carried out: again after a conflict, and until nothing is due."""

import logging
import random
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pyiceberg.exceptions import CommitFailedException

from floe.maintenance.exceptions import MaintenanceDeferred
from floe.maintenance.expire import ExpireSnapshots
from floe.maintenance.job import Job, Policy, Report
from floe.tables.table_state import TableStates

log = logging.getLogger(__name__)

JOBS: Mapping[str, Job[Any]] = MappingProxyType({job.name: job for job in (ExpireSnapshots(),)})
"""Every job by its name."""

MAX_CONFLICTS = 10
"""Commits of others in a row that a job gives way to."""

WAIT = 0.2
"""Seconds at most before a job is retried after a conflict."""


def run_job(job: Job[Any], states: TableStates, name: str, now_ms: int, *, dry_run: bool = False) -> Report | None:
    """Carry out a job on one table until nothing is due, and return what it did; None for nothing.

    It may run beside commits: one made meanwhile takes precedence. ``now_ms``: the time that ages are counted to, in
    epoch ms. On a dry run nothing is changed, and only the first round is reported. Raises MaintenanceDeferred after
    ``MAX_CONFLICTS`` conflicts, and what keeps the table from being read or changed.
    """
    done: Report | None = None
    conflicts = 0
    while conflicts < MAX_CONFLICTS:
        state = states.one(name)
        if state.table is None:
            return done
        work = job.due(state, Policy.of(state), now_ms)
        if work is None:
            return done
        try:
            with states.client.errors(f"commit to table {name!r}", committing=not dry_run):
                report = job.run(state, work, dry_run=dry_run)
        except CommitFailedException as error:
            conflicts += 1
            log.info("table %s: %s is tried again after another commit (%s)", name, job.name, error)
            time.sleep(random.uniform(0, WAIT))  # noqa: S311 - jitter
            continue
        if report:
            log.info("%s", report)
            done = report if done is None else done.then(report)
        if dry_run or not report:
            return done
        conflicts = 0
    msg = (
        f"table {name!r}: {job.name} conflicted with {MAX_CONFLICTS} other commits in a row. Nothing was done to the "
        "table. Run it again later"
    )
    raise MaintenanceDeferred(msg)
