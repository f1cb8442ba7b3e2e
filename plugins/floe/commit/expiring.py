"""Expiry as part of a catalog commit, and the metadata files that a commit leaves over."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    RemoveSnapshotRefUpdate,
    RemoveSnapshotsUpdate,
    TableRequirement,
    TableUpdate,
)

from floe.commit.ancestry import LINKS
from floe.commit.expiry import Expiry
from floe.offsets.ledger import Ledger

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
    metadata, name = table.metadata, ".".join(table.name())
    added = next(update.snapshot for update in updates if isinstance(update, AddSnapshotUpdate))
    expired = Expiry(name, metadata, branch, added, ledger_name, ledger).due()
    if not expired:
        return Changes()
    log.info("table %s: %s snapshots expire", name, len(expired.snapshots))
    if expired.refs:
        log.warning("table %s: branches and tags are past their age and go: %s", name, ", ".join(expired.refs))
    is_stale = LINKS in metadata.properties and not expired.links
    return Changes(
        # one id each: REST servers of Iceberg before 1.10 take no more (apache/iceberg#12670)
        updates=(
            *(RemoveSnapshotRefUpdate.model_validate({"ref-name": ref}) for ref in expired.refs),
            *(RemoveSnapshotsUpdate.model_validate({"snapshot-ids": [one]}) for one in expired.snapshots),
        ),
        # a ref that somebody sets to one of them meanwhile would go with it
        requirements=tuple(
            AssertRefSnapshotId.model_validate({"ref": ref, "snapshot-id": at.snapshot_id})
            for ref, at in metadata.refs.items()
            if ref != branch
        ),
        properties={LINKS: expired.links} if expired.links else {},
        removals=[LINKS] if is_stale else [],
    )


def remove_old_metadata(table: Table, metadata: TableMetadata) -> None:
    """Remove the metadata files that fell out of the log, if the table says so, once a commit has landed.

    Behind a REST catalog that is the server's to do.
    """
    if not isinstance(table.catalog, MetastoreCatalog):
        return
    try:
        table.catalog._delete_old_metadata(table.io, table.metadata, metadata)
    except Exception as error:  # noqa: BLE001 - any store's; the commit has landed, and a file left over does no harm
        log.warning("old metadata files of table %s are left over: %s", ".".join(table.name()), error)
