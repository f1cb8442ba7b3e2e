"""Expiry of snapshots without a commit of rows: the rules that every commit goes by, applied to a table as it is.

A connector's commits expire snapshots themselves. This is for tables that nothing is committed to, or that come with more
snapshots than commits take out one by one.
"""

from typing import NamedTuple

from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata

from floe.catalogs import clock
from floe.maintenance.job import Counts, Policy, Report
from floe.model.ledger import Ledger
from floe.tables.exceptions import TableRefused
from floe.tables.expiry import Expired, Expiry
from floe.tables.expiry_updates import send_expiry
from floe.tables.retention import Retention
from floe.tables.table_state import TableState

SNAPSHOTS, REFS = "snapshots", "branches and tags"


class ExpireWork(NamedTuple):
    """What is to expire as of a time, in epoch ms: ``MAX_PER_COMMIT`` snapshots at most, the oldest first."""

    expired: Expired
    now_ms: int


class ExpireSnapshots:
    """Takes old snapshots out of a table's metadata, and branches and tags past their age. No file is removed."""

    name = "expire-snapshots"

    def due(self, state: TableState, policy: Policy, now_ms: int) -> ExpireWork | None:
        """Return what may expire; nothing where the properties do not say so, or one cannot be sure."""
        if Retention.of(policy.table, policy.properties) is None:
            return None
        expired = _due(policy.table, state.required().metadata, state.branch, now_ms)
        return ExpireWork(expired, now_ms) if expired else None

    def run(self, state: TableState, work: ExpireWork, *, dry_run: bool) -> Report:
        """Expire what still may go. See :class:`floe.maintenance.job.Job`."""
        table = _again(state)
        before = _counts(table.metadata)
        expired = _due(state.name, table.metadata, state.branch, work.now_ms)
        if not expired:
            return Report(self.name, state.name, dry_run, before, before)
        removed = {SNAPSHOTS: len(expired.snapshots), REFS: len(expired.refs)}
        if dry_run:
            after: Counts = {name: before[name] - removed[name] for name in before}
        else:
            after = _counts(send_expiry(table, expired))
        return Report(self.name, state.name, dry_run, before, after, removed)


def _due(name: str, metadata: TableMetadata, branch: str, now_ms: int) -> Expired:
    """Return what may expire, by ages as of ``now_ms``; nothing while this host's clock is behind the table's times."""
    ref = metadata.refs.get(branch)
    head = metadata.snapshot_by_id(ref.snapshot_id) if ref is not None else None
    if head is None or clock.now_ms() < clock.last_time(metadata):
        return Expired()  # metadata is dated by the host that writes it, and may not be older than it was
    # as if the branch's head had been committed now, with no ledger beside those that the table has
    newest = head.model_copy(update={"timestamp_ms": now_ms})
    return Expiry(name, metadata, branch, newest, "", Ledger("")).due()


def _again(state: TableState) -> Table:
    known = state.required()
    table = known.catalog.load_table(known.name())
    if table.metadata.table_uuid != known.metadata.table_uuid:
        msg = f"table {state.name!r} was replaced when its maintenance began. Nothing was done to it"
        raise TableRefused(msg)
    return table


def _counts(metadata: TableMetadata) -> Counts:
    return {SNAPSHOTS: len(metadata.snapshots), REFS: len(metadata.refs)}
