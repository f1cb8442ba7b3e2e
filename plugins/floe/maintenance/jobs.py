"""All maintenance jobs, and how one is carried out: again after a conflict, and until nothing is due."""

import logging
from typing import Any, Final

from pyiceberg.exceptions import CommitFailedException

from floe.config.extensions import Registry
from floe.maintenance.expire import ExpireSnapshots
from floe.maintenance.job import Counts, MaintenanceDeferred, MaintenanceJob, Policy, Report
from floe.tables.lake import Lake
from floe.tables.retry import retry_conflicts

log = logging.getLogger(__name__)

_OWN: Final[tuple[MaintenanceJob[Any], ...]] = (ExpireSnapshots(),)

JOBS: Final[Registry[MaintenanceJob[Any]]] = Registry(
    "floe.maintenance_jobs", MaintenanceJob, {job.name: job for job in _OWN}
)
"""Every job by its name."""

MAX_CONFLICTS = 10
"""Commits of others in a row that a job gives way to."""


def run_job(job: MaintenanceJob[Any], lake: Lake, name: str, now_ms: int, *, dry_run: bool = False) -> Report | None:
    """Carry out a job on one table until nothing is due, and return what it did; None for nothing.

    It may run beside commits: one made meanwhile takes precedence. ``now_ms``: the time that ages are counted to, in
    epoch ms. On a dry run nothing is changed, and only the first round is reported. Raises MaintenanceDeferred after
    ``MAX_CONFLICTS`` conflicts, and what keeps the table from being read or changed.
    """
    done: Report | None = None
    what = f"table {name!r}: {job.name}"
    try:
        while report := retry_conflicts(what, MAX_CONFLICTS, lambda: _round(job, lake, name, now_ms, dry_run)):
            log.info("%s", report)
            done = report if done is None else done.then(report)
            if dry_run:
                break
    except CommitFailedException as error:
        so_far = "Nothing was changed" if done is None else f"Its earlier rounds are committed ({done})"
        msg = f"{what} conflicted with {MAX_CONFLICTS} other commits in a row. {so_far}. Run it again later"
        raise MaintenanceDeferred(msg) from error
    return done


def _round(job: MaintenanceJob[Any], lake: Lake, name: str, now_ms: int, dry_run: bool) -> Report | None:
    """Do what is due now, in one catalog commit. Raises CommitFailedException after a conflict."""
    state = lake.state(name)
    if state.table is None:
        return None
    work = job.due(state, Policy.of(state), now_ms)
    if work is None:
        return None
    before, effect = job.counts(state.table.metadata), job.effect(work)
    if dry_run:
        after: Counts = {
            what: before[what] + effect.added.get(what, 0) - effect.removed.get(what, 0) for what in before
        }
    else:
        after = job.counts(lake.commit(state.table, job.change(state, work)).metadata)
    return Report(job.name, name, dry_run, before, after, effect.removed, effect.added)
