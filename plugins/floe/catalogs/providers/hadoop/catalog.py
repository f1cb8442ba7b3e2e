"""Catalogs of folders, as Java's HadoopCatalog: ``<warehouse>/<namespace…>/<table>/metadata``.

Tables are not renamed and not moved, as in Java.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.table import CommitTableResponse, Table, TableProperties
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, SortOrder
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties

from floe.catalogs.exceptions import TableRefused, TableUnsuitable
from floe.catalogs.metadata_files import parse_metadata
from floe.catalogs.providers.hadoop.folders import METADATA, FolderCatalog, is_table
from floe.catalogs.providers.hadoop.version_folder import GZIP, Version, VersionFolder
from floe.catalogs.providers.staged_commit import BasedOn, StagedCommit
from floe.catalogs.table_trust import check_table_properties

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.update import TableRequirement, TableUpdate

_READS: Final = 20
"""A version may be removed between its listing and its reading: then there are newer ones."""


class HadoopCatalog(StagedCommit, FolderCatalog):
    """Tables in folders of a file system that this machine has mounted."""

    def create_table(
        self,
        identifier: str | Identifier,
        schema: Schema | pa.Schema,
        location: str | None = None,
        partition_spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
        sort_order: SortOrder = UNSORTED_SORT_ORDER,
        properties: Properties = EMPTY_DICT,
    ) -> Table:
        """Create a table. Raises TableAlreadyExistsError, NoSuchNamespaceError, TableUnsuitable for a location of its own."""
        names = self.identifier_to_tuple(identifier)
        if location is not None and location.rstrip("/") != self.location_of(names):
            msg = f"table {'.'.join(names)!r} cannot be at {location!r}: a Hadoop catalog keeps each table in its own folder"
            raise TableUnsuitable(msg)
        self.require_namespace(names[:-1])
        format_version = properties.get(TableProperties.FORMAT_VERSION, TableProperties.DEFAULT_FORMAT_VERSION)
        metadata = new_table_metadata(
            schema=self._convert_schema_if_needed(schema, int(format_version)),  # type: ignore[arg-type]
            partition_spec=partition_spec,
            sort_order=sort_order,
            location=self.location_of(names),
            properties=properties,
        )
        _check_in_place(names, metadata, metadata)
        path = self.path_of(names) / METADATA
        path.mkdir(parents=True, exist_ok=True)
        with VersionFolder.open(path) as folder:
            try:
                with folder.locked():
                    if folder.current() is not None:
                        raise CommitFailedException
                    folder.publish(_version(1, metadata), _content(metadata))
            except CommitFailedException as error:
                msg = f"Table {'.'.join(names)} already exists"
                raise TableAlreadyExistsError(msg) from error
        return self.load_table(names)

    def load_table(self, identifier: str | Identifier) -> Table:
        """Load a table. Raises NoSuchTableError, TableRefused."""
        names = self.identifier_to_tuple(identifier)
        with self._opened(names) as folder:
            return self._read(names, folder)[0]

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Commit updates to a table. Raises CommitFailedException, NoSuchTableError, TableRefused."""
        names = table.name()
        try:
            with BasedOn(table), self._opened(names) as folder:
                present, version = self._read(names, folder)
                made = self._update_and_stage_table(present, names, requirements, updates).metadata
                if made == present.metadata:
                    return _answer(made, present.metadata_location)
                _check_in_place(names, present.metadata, made)
                # named by the codec of the version before, so that every committer to it makes a file of the same name
                new = _version(version.number + 1, present.metadata)
                with folder.locked():
                    if folder.current() != version:
                        msg = f"Table has been updated by another process: {'.'.join(names)}"
                        raise CommitFailedException(msg)
                    folder.publish(new, _content(made))
                return _answer(made, self._file(names, new))
        except NoSuchTableError:
            for requirement in requirements:
                requirement.validate(None)
            raise

    def drop_table(self, identifier: str | Identifier) -> None:
        """Remove a table's folder with all that is in it, as Java does. Raises NoSuchTableError."""
        names = self.identifier_to_tuple(identifier)
        path = self.path_of(names)
        away = path.with_name(f".{path.name}-dropped-{uuid.uuid4()}")
        with self._opened(names) as folder, folder.locked():
            path.rename(away)
        shutil.rmtree(away)

    def purge_table(self, identifier: str | Identifier) -> None:
        """Remove a table's folder: what a table has elsewhere remains."""
        self.drop_table(identifier)

    def list_tables(self, namespace: str | Identifier) -> list[Identifier]:
        """List the tables of a namespace. Raises NoSuchNamespaceError."""
        names = self.identifier_to_tuple(namespace)
        self.require_namespace(names)
        return [(*names, path.name) for path in self.folders_of(names) if is_table(path)]

    # -- metadata -------------------------------------------------------------------------------------------------------

    def _file(self, names: Identifier, version: Version) -> str:
        return f"{self.location_of(names)}/{METADATA}/{version.name}"

    @contextmanager
    def _opened(self, names: Identifier) -> Iterator[VersionFolder]:
        path = self.path_of(names) / METADATA
        try:
            opened = VersionFolder.open(path)
            folder = opened.__enter__()
        except (FileNotFoundError, NotADirectoryError) as error:
            msg = f"Table does not exist: {'.'.join(names)}"
            raise NoSuchTableError(msg) from error
        try:
            yield folder
        finally:
            opened.__exit__(None, None, None)

    def _read(self, names: Identifier, folder: VersionFolder) -> tuple[Table, Version]:
        for _ in range(_READS):
            version = folder.current()
            if version is None:
                break
            try:
                metadata = parse_metadata(folder.read(version))
            except FileNotFoundError:
                continue
            check_table_properties(".".join(names), metadata.properties)
            location = self._file(names, version)
            io = self._load_file_io(metadata.properties, location)
            return Table(names, metadata, location, io, self), version
        msg = f"Table does not exist: {'.'.join(names)}"
        raise NoSuchTableError(msg)


def _answer(metadata: TableMetadata, location: str) -> CommitTableResponse:
    return CommitTableResponse.model_validate({"metadata": metadata, "metadata-location": location})


def _version(number: int, metadata: TableMetadata) -> Version:
    codec = metadata.properties.get("write.metadata.compression-codec", "none").strip().lower()
    if codec not in ("none", "gzip", ""):
        msg = (
            f"write.metadata.compression-codec is {codec[:50]!r}: floe writes metadata as none and as gzip. Nothing was "
            "committed. Set one of them"
        )
        raise TableRefused(msg, code="FLOE-412")
    return Version(number, f"v{number}{GZIP if codec == 'gzip' else ''}.metadata.json")


def _content(metadata: TableMetadata) -> bytes:
    return metadata.model_dump_json(exclude_none=True).encode()


def _check_in_place(names: Identifier, before: TableMetadata, after: TableMetadata) -> None:
    """Raise TableRefused for a table that would be elsewhere: Java refuses it too."""
    if before.location != after.location or TableProperties.WRITE_METADATA_PATH in after.properties:
        msg = (
            f"table {'.'.join(names)!r} would be moved, or its metadata by write.metadata.path: no reader of a Hadoop "
            "catalog would find it. Nothing was committed. Unset write.metadata.path"
        )
        raise TableRefused(msg, code="FLOE-412")
