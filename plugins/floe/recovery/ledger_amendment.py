"""Updating a ledger without rows: an empty snapshot that carries a decision."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyiceberg.table import Table

from floe.catalogs.client import Tables
from floe.config import Connector
from floe.crash_points import CrashPoint, reach
from floe.model.ledger import Ledger
from floe.model.ledger_codec import property_name
from floe.tables.exceptions import TableRefused
from floe.tables.retry import retry
from floe.tables.routes import Routes
from floe.tables.snapshot_commit import append

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class KeepAnchor:
    """A ledger to be written without a new anchor: its history is still to be decided about."""

    ledger: Ledger


Change = Callable[[Table], Ledger | KeepAnchor | None]


def update_ledger(
    tables: Tables,
    connector: Connector,
    name: str,
    change: Change,
    summary: Mapping[str, str],
    branch_of: Callable[[Table], str] | None = None,
) -> int | None:
    """Commit the ledger that ``change`` makes of a table, in an empty snapshot, and return the snapshot's id.

    ``branch_of``: the branch whose ledger it is, the connector's if not given.

    ``change`` gets the table as it is at each attempt, and returns None when nothing is left to do. So repeats are
    harmless, and a commit whose answer was lost is recognized. Returns None when nothing was done. Raises what
    ``change`` raises, TableRefused for a table that is gone, TableNotCommitted when the time for retries is over.
    """

    def attempt() -> int | None:
        table = tables.load(name)
        if table is None:
            msg = f"table {name!r} does not exist any more. No decision about it was applied"
            raise TableRefused(msg, code="FLOE-409")
        ledger = change(table)
        if ledger is None:
            return None
        reach(CrashPoint.AMEND_TABLE)
        branch = branch_of(table) if branch_of is not None else Routes(connector).branch(name)
        ledger_name = property_name(connector.group_id, branch)
        keeps = isinstance(ledger, KeepAnchor)
        written = ledger.ledger if isinstance(ledger, KeepAnchor) else ledger
        with tables.committing(name):
            snapshot_id = append(table, branch, (), summary, ledger_name, written, keep_anchor=keeps)
        reach(CrashPoint.AMEND_TABLE_LANDED)
        log.info("table %s: %s, snapshot %s", name, summary.get("floe.kind"), snapshot_id)
        return snapshot_id

    return retry(f"table {name!r}", connector.committing.timeout_ms / 1000, attempt)
