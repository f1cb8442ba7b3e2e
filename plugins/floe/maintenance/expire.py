"""Expiry of snapshots without a commit of rows: the rules that every commit goes by, applied to a table as it is.

A connector's commits expire snapshots themselves. This is for tables that nothing is committed to, or that come with more
snapshots than commits take out one by one.
"""

from pyiceberg.table.metadata import TableMetadata

from floe.catalogs import clock
from floe.maintenance.job import Counts, Effect, Policy
from floe.model.ledger import Ledger
from floe.tables.change import Change, expire
from floe.tables.expiry import Expired, Expiry, Retention
from floe.tables.table_state import TableState

SNAPSHOTS, REFS = "snapshots", "branches and tags"


class ExpireSnapshots:
    """Takes old snapshots out of a table's metadata, and branches and tags past their age. No file is removed.

    Its work is what expires: ``MAX_PER_COMMIT`` snapshots at most, the oldest first.
    """

    name = "expire-snapshots"

    def due(self, state: TableState, policy: Policy, now_ms: int) -> Expired | None:
        """Return what may expire; nothing where the properties do not say so, or one cannot be sure."""
        if Retention.of(policy.table, policy.properties) is None:
            return None
        return _due(policy.table, state.required().metadata, state.branch, now_ms) or None

    def change(self, state: TableState, work: Expired) -> Change:
        return expire(state.branch, work)

    def counts(self, metadata: TableMetadata) -> Counts:
        return {SNAPSHOTS: len(metadata.snapshots), REFS: len(metadata.refs)}

    def effect(self, work: Expired) -> Effect:
        return Effect({SNAPSHOTS: len(work.snapshots), REFS: len(work.refs)})


def _due(name: str, metadata: TableMetadata, branch: str, now_ms: int) -> Expired:
    """Return what may expire, by ages as of ``now_ms``; nothing while this host's clock is behind the table's times."""
    ref = metadata.refs.get(branch)
    head = metadata.snapshot_by_id(ref.snapshot_id) if ref is not None else None
    if head is None or clock.now_ms() < clock.last_time(metadata):
        return Expired()  # metadata is dated by the host that writes it, and may not be older than it was
    # as if the branch's head had been committed now, with no ledger beside those that the table has
    newest = head.model_copy(update={"timestamp_ms": now_ms})
    return Expiry(name, metadata, branch, newest, "", Ledger("")).due()
