"""Updates of a table's metadata that leave alone the snapshots which no update names.

PyIceberg's own update copies all of the metadata deeply, each snapshot with its summary: most of what a commit costs on
a table that retains many. Here it is given those few that count, and the others go back where they were.
"""

from collections.abc import Iterable, Sequence

from pyiceberg.table import TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import SnapshotLogEntry
from pyiceberg.table.update import AddSnapshotUpdate, RemoveSnapshotsUpdate, SetSnapshotRefUpdate, TableUpdate
from pyiceberg.utils.properties import property_as_int


def concerned(metadata: TableMetadata, updates: Iterable[TableUpdate]) -> TableMetadata:
    """Return the metadata with the snapshots that updates and requirements look at only, and without logs."""
    named = {ref.snapshot_id for ref in metadata.refs.values()}
    named.update(s.snapshot_id for s in metadata.snapshots[-1:])  # requirements ask whether there are any
    for update in updates:
        match update:
            case AddSnapshotUpdate():
                named.add(update.snapshot.snapshot_id)
            case SetSnapshotRefUpdate():
                named.add(update.snapshot_id)
            case RemoveSnapshotsUpdate():
                named.update(update.snapshot_ids)
    snapshots = [s for s in metadata.snapshots if s.snapshot_id in named]
    return metadata.model_copy(update={"snapshots": snapshots, "snapshot_log": [], "metadata_log": []})


def completed(
    updated: TableMetadata, given: TableMetadata, whole: TableMetadata, updates: Iterable[TableUpdate]
) -> TableMetadata:
    """Return what ``updated`` would be, had it been made of ``whole`` and not of ``given``, the part that counts.

    A snapshot keeps the id of a parent that was removed, the log ends at removed ones, and statistics of all kinds go with
    them, as in Iceberg's Java library.
    """
    known = {s.snapshot_id for s in given.snapshots}
    left = {s.snapshot_id for s in updated.snapshots}
    removed = known - left
    kept = [s for s in whole.snapshots if s.snapshot_id not in removed] if removed else whole.snapshots
    # as they were sent: PyIceberg takes the parent's id away from one whose parent the same commit removes
    sent = (update.snapshot for update in updates if isinstance(update, AddSnapshotUpdate))
    added = [s for s in sent if s.snapshot_id in left - known]
    log = [*whole.snapshot_log, *updated.snapshot_log]
    most = property_as_int(
        updated.properties,
        TableProperties.METADATA_PREVIOUS_VERSIONS_MAX,
        TableProperties.METADATA_PREVIOUS_VERSIONS_MAX_DEFAULT,
    )
    return updated.model_copy(
        update={
            "snapshots": [*kept, *added],
            "partition_statistics": [p for p in updated.partition_statistics if p.snapshot_id not in removed],
            "snapshot_log": _without_gaps(log, removed) if removed else log,
            "metadata_log": [*whole.metadata_log, *updated.metadata_log][-max(1, most or 1) :],
        }
    )


def _without_gaps(log: Sequence[SnapshotLogEntry], removed: set[int]) -> list[SnapshotLogEntry]:
    """Return the entries after the last removed one: across a gap, the table would be read as of a wrong time."""
    gaps = [i for i, entry in enumerate(log) if entry.snapshot_id in removed]
    return list(log[gaps[-1] + 1 :]) if gaps else list(log)
