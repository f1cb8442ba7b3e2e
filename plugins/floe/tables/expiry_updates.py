"""Expiry as part of a catalog commit, and the metadata files that a commit leaves over."""

import logging
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.table import Table, TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    RemoveSnapshotRefUpdate,
    RemoveSnapshotsUpdate,
    TableRequirement,
    TableUpdate,
)
from pyiceberg.utils.properties import property_as_bool

from floe.config.secrets.mask import clip
from floe.model.ledger import Ledger
from floe.tables.expiry import Expiry
from floe.tables.history import LINKS

log = logging.getLogger(__name__)

DELETE_OLD = TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED
_HEAD_BYTES = 16_384
_COMPRESSED = ".gz.metadata.json"
_UUID = re.compile(rb'"table-uuid"\s*:\s*"([0-9a-fA-F-]{36})"')


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

    Behind a REST catalog that is the server's to do. A file that the log names and that is no metadata of this table stays:
    whoever may put metadata in the place of a table's could have floe remove any file.
    """
    if not isinstance(table.catalog, MetastoreCatalog):
        return
    left = {entry.metadata_file for entry in metadata.metadata_log}
    try:
        if property_as_bool(metadata.properties, DELETE_OLD, False):
            gone = [entry for entry in table.metadata.metadata_log if entry.metadata_file not in left]
            own = [entry for entry in gone if _is_own(table, entry.metadata_file)]
            base = table.metadata.model_copy(update={"metadata_log": own})
            table.catalog._delete_old_metadata(table.io, base, metadata)
    except Exception as error:  # noqa: BLE001 - any store's; the commit has landed, and a file left over does no harm
        log.warning("old metadata files of table %s are left over: %s", ".".join(table.name()), error)


def _is_own(table: Table, location: str) -> bool:
    """Say whether a file is metadata of this very table, which says so in its first lines."""
    try:
        with table.io.new_input(location).open(seekable=False) as stream:
            head = stream.read(_HEAD_BYTES)
        if location.endswith(_COMPRESSED):
            head = zlib.decompressobj(wbits=31).decompress(head, _HEAD_BYTES)
    except (OSError, ValueError, zlib.error) as error:
        log.warning("metadata file %s is left over: it cannot be read (%s)", location, error)
        return False
    found = _UUID.search(head)
    if found is not None and found[1].decode() == str(table.metadata.table_uuid):
        return True
    log.warning(
        "the metadata log of table %s names %s, which is no metadata of this table: it is not removed. Check who changes the "
        "table's metadata",
        ".".join(table.name()),
        clip(location, 300),
    )
    return False
