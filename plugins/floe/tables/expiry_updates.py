"""Expiry as part of a catalog commit."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyiceberg.table import Table
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    RemoveSnapshotRefUpdate,
    RemoveSnapshotsUpdate,
    TableRequirement,
    TableUpdate,
)

from floe.model.ledger import Ledger
from floe.tables.expiry import Expired, Expiry
from floe.tables.history import LINKS

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Changes:
    """What an expiry adds to a commit; ``properties`` are set, ``removals`` are properties that go."""

    updates: Sequence[TableUpdate] = ()
    requirements: Sequence[TableRequirement] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    removals: Sequence[str] = ()


def expiring(table: Table, branch: str, updates: Iterable[TableUpdate], ledger_name: str, ledger: Ledger) -> Changes:
    """Return what a commit of a snapshot to ``branch`` is to take out of a table."""
    added = next(update.snapshot for update in updates if isinstance(update, AddSnapshotUpdate))
    expired = Expiry(".".join(table.name()), table.metadata, branch, added, ledger_name, ledger).due()
    return taking_out(table, expired, branch)


def taking_out(table: Table, expired: Expired, moving: str | None = None) -> Changes:
    """Return what takes out the expired. Any other ref that moved meanwhile is a conflict.

    ``moving``: the branch that the commit requires to be where it is anyway.
    """
    if not expired:
        return Changes()
    metadata, name = table.metadata, ".".join(table.name())
    log.info("table %s: %s snapshots expire", name, len(expired.snapshots))
    if expired.refs:
        log.warning("table %s: branches and tags are dropped: %s", name, ", ".join(expired.refs))
    is_stale = bool(expired.snapshots) and LINKS in metadata.properties and not expired.links
    return Changes(
        # one id each: REST servers of Iceberg before 1.10 take no more (apache/iceberg#12670)
        updates=(
            *(RemoveSnapshotRefUpdate.model_validate({"ref-name": ref}) for ref in expired.refs),
            *(RemoveSnapshotsUpdate.model_validate({"snapshot-ids": [one]}) for one in expired.snapshots),
        ),
        # a ref that another process sets to one of them meanwhile would be removed with it
        requirements=tuple(
            AssertRefSnapshotId.model_validate({"ref": ref, "snapshot-id": at.snapshot_id})
            for ref, at in metadata.refs.items()
            if ref != moving
        ),
        properties={LINKS: expired.links} if expired.links else {},
        removals=[LINKS] if is_stale else [],
    )
