"""Updating a ledger without rows: an empty snapshot that carries a decision."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyiceberg.table import Table

from floe.crash_points import CrashPoint, reach
from floe.model.ledger import Ledger
from floe.tables.change import append_files
from floe.tables.exceptions import TableRefused
from floe.tables.lake import Lake
from floe.tables.retry import retry

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class KeepAnchor:
    """A ledger to be written without a new anchor: its history is still to be decided about."""

    ledger: Ledger


Amendment = Callable[[Table], Ledger | KeepAnchor | None]


def update_ledger(
    lake: Lake,
    name: str,
    amend: Amendment,
    summary: Mapping[str, str],
    branch_of: Callable[[Table], str] | None = None,
) -> int | None:
    """Commit the ledger that ``amend`` makes of a table, in an empty snapshot, and return the snapshot's id.

    ``branch_of``: the branch whose ledger it is, the connector's if not given.

    ``amend`` gets the table as it is at each attempt, and returns None when nothing is left to do. So repeats are
    harmless, and a commit whose answer was lost is recognized. Returns None when nothing was done. Raises what
    ``amend`` raises, TableRefused for a table that is gone, TableNotCommitted when the time for retries is over.
    """

    def attempt() -> int | None:
        table = lake.client.load(name)
        if table is None:
            msg = f"table {name!r} does not exist any more. No decision about it was applied"
            raise TableRefused(msg, code="FLOE-409")
        ledger = amend(table)
        if ledger is None:
            return None
        reach(CrashPoint.AMEND_TABLE)
        branch = branch_of(table) if branch_of is not None else lake.routes.branch(name)
        keeps = isinstance(ledger, KeepAnchor)
        written = ledger.ledger if isinstance(ledger, KeepAnchor) else ledger
        change = append_files(table, branch, summary, ())
        snapshot_id = lake.commit(table, change, written, keeps_anchor=keeps).snapshot_id
        reach(CrashPoint.AMEND_TABLE_LANDED)
        log.info("table %s: %s, snapshot %s", name, summary.get("floe.kind"), snapshot_id)
        return snapshot_id

    return retry(f"table {name!r}", lake.connector.committing.timeout_ms / 1000, attempt)
