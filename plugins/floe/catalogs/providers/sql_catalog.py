"""PyIceberg's SQL catalog, quicker on tables that retain many snapshots.

It reads a version of the metadata once where PyIceberg reads it twice, and neither validates nor copies nor writes anew
every snapshot of it. What is checked and how it is swapped is PyIceberg's. (Its private names are guarded in
``tests/unit/catalogs``.)
"""

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io import FileIO
from pyiceberg.table import CommitTableResponse, StagedTable, Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import RemoveSnapshotsUpdate, TableRequirement, TableUpdate
from pyiceberg.typedef import Identifier
from pyiceberg.utils.config import Config

from floe.catalogs.clock import dated, last_time, with_risen_times
from floe.catalogs.providers.sql_metadata_io import Fields, completed, concerned, read_metadata, write_metadata
from floe.catalogs.table_trust import check_table_properties


class QuickTable(Table):
    """A table as it was loaded; ``version`` is the metadata file that it was read from."""

    def __init__(self, *args: Any, snapshots: Mapping[int, Fields], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.version = Version(self.metadata_location, self.metadata, snapshots)


@dataclass(frozen=True)
class Version:
    """What one metadata file holds: it is written once, and never changed."""

    location: str
    metadata: TableMetadata
    snapshots: Mapping[int, Fields] = field(repr=False)


@dataclass
class _Commit:
    """A commit that is under way, with the table that it was made of."""

    table: Table
    base: Version | None = None


_COMMIT: ContextVar[_Commit | None] = ContextVar("floe_commit", default=None)


class QuickSqlCatalog(SqlCatalog):
    """The SQL catalog that floe opens in the place of PyIceberg's."""

    @classmethod
    def of(cls, catalog: SqlCatalog) -> "QuickSqlCatalog":
        """Go on with the connections of a catalog that was opened."""
        quick = cls.__new__(cls)
        vars(quick).update(vars(catalog))
        return quick

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Commit as PyIceberg does; ``table`` is not read again if it still is the present version."""
        token = _COMMIT.set(_Commit(table))
        try:
            return super().commit_table(table, requirements, updates)
        finally:
            _COMMIT.reset(token)

    def _convert_orm_to_iceberg(self, orm_table: IcebergTables) -> Table:
        location = orm_table.metadata_location
        if not location:
            return super()._convert_orm_to_iceberg(orm_table)
        commit = _COMMIT.get()
        known = commit.table if commit is not None else None
        if isinstance(known, QuickTable) and known.version.location == location:
            metadata, snapshots = known.version.metadata, known.version.snapshots
        else:
            metadata, snapshots = read_metadata(self._load_file_io(location=location).new_input(location))
        identifier = (*Catalog.identifier_to_tuple(orm_table.table_namespace), orm_table.table_name)
        check_table_properties(".".join(identifier), metadata.properties)
        return QuickTable(
            identifier=identifier,
            metadata=metadata,
            metadata_location=location,
            io=self._load_file_io(metadata.properties, location),
            catalog=self,
            snapshots=snapshots,
        )

    def _update_and_stage_table(
        self,
        current_table: Table | None,
        table_identifier: Identifier,
        requirements: tuple[TableRequirement, ...],
        updates: tuple[TableUpdate, ...],
    ) -> StagedTable:
        commit = _COMMIT.get()
        if commit is None or not isinstance(current_table, QuickTable):
            return super()._update_and_stage_table(current_table, table_identifier, requirements, updates)
        commit.base = current_table.version
        name = ".".join(table_identifier)
        if last_time(current_table.metadata) > last_time(commit.table.metadata):
            updates = dated(updates, name, current_table.metadata)  # another change came in between, of a later time
        _refuse_new_refs(commit.table.metadata, current_table.metadata, updates)
        given = concerned(current_table.metadata, updates)
        part = Table(table_identifier, given, current_table.metadata_location, current_table.io, self)
        staged = super()._update_and_stage_table(part, table_identifier, requirements, updates)
        whole = completed(staged.metadata, given, current_table.metadata, updates)
        staged.metadata = with_risen_times(whole, current_table.metadata, name)
        return staged

    def _write_metadata(self, metadata: TableMetadata, io: FileIO, metadata_path: str) -> None:  # type: ignore[override]
        commit = _COMMIT.get()
        base = commit.base if commit is not None else None
        if base is None or metadata.format_version != 2 or Config().get_bool("legacy-current-snapshot-id"):
            super()._write_metadata(metadata, io, metadata_path)
        else:
            write_metadata(io.new_output(metadata_path), metadata, base.snapshots)


def _refuse_new_refs(known: TableMetadata, present: TableMetadata, updates: Iterable[TableUpdate]) -> None:
    """Raise CommitFailedException for a removal of snapshots that does not know of a branch or tag.

    That would go with its snapshot, or be cut off from its history. No requirement can name what is not known.
    """
    new = present.refs.keys() - known.refs.keys()
    if new and any(isinstance(update, RemoveSnapshotsUpdate) for update in updates):
        msg = f"Requirement failed: branches or tags were created meanwhile: {', '.join(sorted(new))}"
        raise CommitFailedException(msg)
