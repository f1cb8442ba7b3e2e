"""What Iceberg's Java library does at a commit and PyIceberg does not, for catalogs whose clients write metadata files.

A snapshot keeps the id of a parent that expired. The snapshot log begins behind a gap. Statistics are removed with their
snapshots. Times never go back. No snapshot is removed under a branch or tag that was created meanwhile. PyIceberg checks
requirements, and makes the metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import ClassVar

from pyiceberg.catalog import METADATA_LOCATION, TABLE_TYPE, MetastoreCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchNamespaceError
from pyiceberg.table import CommitTableResponse, StagedTable, Table, TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import SnapshotLogEntry
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    RemoveSnapshotsUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from pyiceberg.utils.properties import property_as_int

from floe.catalogs.clock import dated, last_time, with_risen_times
from floe.catalogs.exceptions import TableUnsuitable
from floe.catalogs.metadata_files import read_metadata
from floe.catalogs.table_trust import check_table_properties

_COMMITTED: ContextVar[Table | None] = ContextVar("floe_committed_table", default=None)
"""The table that a commit in progress is based on: PyIceberg passes only the current one to its hooks."""


class StagedCommit(MetastoreCatalog):
    """A catalog of PyIceberg that makes a table's next metadata itself. It comes before PyIceberg's class among the bases."""

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Commit as PyIceberg does, based on ``table``."""
        with BasedOn(table):
            return super().commit_table(table, requirements, updates)  # type: ignore[safe-super]

    def _update_and_stage_table(
        self,
        current_table: Table | None,
        table_identifier: Identifier,
        requirements: tuple[TableRequirement, ...],
        updates: tuple[TableUpdate, ...],
    ) -> StagedTable:
        committed = _COMMITTED.get()
        if committed is None or current_table is None:
            return super()._update_and_stage_table(current_table, table_identifier, requirements, updates)
        name, present = ".".join(table_identifier), current_table.metadata
        if last_time(present) > last_time(committed.metadata):
            updates = dated(updates, name, present)  # another change was made meanwhile, at a later time
        _check_new_refs(committed.metadata, present, updates)
        part = relevant_part(present, updates)
        given = Table(table_identifier, part, current_table.metadata_location, current_table.io, self)
        staged = super()._update_and_stage_table(given, table_identifier, requirements, updates)
        staged.metadata = with_risen_times(merge_updated(staged.metadata, part, present, updates), present, name)
        return staged


class BasedOn:
    """Commit changes of a table: what is staged meanwhile is based on it.

    A class, and no generator: ``contextlib`` sets the traceback of an error that passes through, which Thrift's errors,
    being immutable, answer with a TypeError, and then what the metastore said is lost.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def __enter__(self) -> None:
        self._token = _COMMITTED.set(self._table)

    def __exit__(self, *_: object) -> None:
        _COMMITTED.reset(self._token)


def committed_table() -> Table | None:
    """Return the table that a commit in progress is based on."""
    return _COMMITTED.get()


def relevant_part(metadata: TableMetadata, updates: Iterable[TableUpdate]) -> TableMetadata:
    """Return the metadata with only the snapshots that updates and requirements use, and without logs."""
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


def merge_updated(
    updated: TableMetadata, part: TableMetadata, whole: TableMetadata, updates: Iterable[TableUpdate]
) -> TableMetadata:
    """Return what ``updated`` would be if it had been made from ``whole`` and not from ``part``, its relevant part.

    A snapshot keeps the id of a parent that was removed, the log ends at removed ones, and statistics of all kinds are
    removed with them, as in Iceberg's Java library.
    """
    known = {s.snapshot_id for s in part.snapshots}
    remaining = {s.snapshot_id for s in updated.snapshots}
    removed = known - remaining
    kept = [s for s in whole.snapshots if s.snapshot_id not in removed] if removed else whole.snapshots
    # as they were sent: PyIceberg removes the parent's id of a snapshot whose parent the same commit removes
    sent = (update.snapshot for update in updates if isinstance(update, AddSnapshotUpdate))
    added = [s for s in sent if s.snapshot_id in remaining - known]
    log = [*whole.snapshot_log, *updated.snapshot_log]
    max_versions = property_as_int(
        updated.properties,
        TableProperties.METADATA_PREVIOUS_VERSIONS_MAX,
        TableProperties.METADATA_PREVIOUS_VERSIONS_MAX_DEFAULT,
    )
    return updated.model_copy(
        update={
            "snapshots": [*kept, *added],
            "partition_statistics": [p for p in updated.partition_statistics if p.snapshot_id not in removed],
            "snapshot_log": _without_gaps(log, removed) if removed else log,
            "metadata_log": [*whole.metadata_log, *updated.metadata_log][-max(1, max_versions or 1) :],
        }
    )


def _without_gaps(log: Sequence[SnapshotLogEntry], removed: set[int]) -> list[SnapshotLogEntry]:
    """Return the entries after the last removed one: across a gap, the table would be read as of a wrong time."""
    gaps = [i for i, entry in enumerate(log) if entry.snapshot_id in removed]
    return list(log[gaps[-1] + 1 :]) if gaps else list(log)


def _check_new_refs(known: TableMetadata, present: TableMetadata, updates: Iterable[TableUpdate]) -> None:
    """Raise CommitFailedException for a removal of snapshots that does not know of a branch or tag.

    That ref would lose its snapshot or its history. No requirement can name a ref that is not known.
    """
    new = present.refs.keys() - known.refs.keys()
    if new and any(isinstance(update, RemoveSnapshotsUpdate) for update in updates):
        msg = f"Requirement failed: branches or tags were created meanwhile: {', '.join(sorted(new))}"
        raise CommitFailedException(msg)


# Catalogs of databases without others in them, whose entries point to a table's metadata file: Hive and Glue.


class DatabaseTables(StagedCommit):
    """It comes before PyIceberg's class among the bases. ``service``: its name; ``migration``: of other tables."""

    service: ClassVar[str]
    migration: ClassVar[str]

    def create_namespace(self, namespace: str | Identifier, properties: Properties = EMPTY_DICT) -> None:
        """Create a database. Raises NamespaceAlreadyExistsError, TableUnsuitable for a namespace in another."""
        names = self.identifier_to_tuple(namespace)
        if len(names) != 1:
            msg = (
                f"{'.'.join(names)!r} cannot be a namespace in {self.service}, which has databases without others in them: "
                "name the table database.table"
            )
            raise TableUnsuitable(msg)
        super().create_namespace(namespace, properties)  # type: ignore[safe-super]

    def list_tables(self, namespace: str | Identifier) -> list[Identifier]:
        """List the Iceberg tables of a database. Raises NoSuchNamespaceError."""
        if len(self.identifier_to_tuple(namespace)) != 1:
            msg = f"Namespace does not exist: {namespace}"
            raise NoSuchNamespaceError(msg)
        return super().list_tables(namespace)  # type: ignore[safe-super]

    def table_at(self, name: Identifier, parameters: Mapping[str, str]) -> Table:
        """Read the table that an entry's parameters point to. Raises TableUnsuitable for an entry of another kind."""
        location = parameters.get(METADATA_LOCATION)
        if parameters.get(TABLE_TYPE, "").lower() != "iceberg" or not location:
            msg = (
                f"{'.'.join(name)!r} is in {self.service} and is no Iceberg table: nothing was committed to it. "
                f"{self.migration}, or give floe's table another name"
            )
            raise TableUnsuitable(msg)
        known = committed_table()
        if known is not None and known.metadata_location == location:
            metadata = known.metadata  # a metadata file is written once, and never changed
        else:
            metadata = read_metadata(self._load_file_io(location=location).new_input(location))
        check_table_properties(".".join(name), metadata.properties)
        return Table(name, metadata, location, self._load_file_io(metadata.properties, location), self)
