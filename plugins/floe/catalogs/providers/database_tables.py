"""Catalogs of databases without others in them, whose entries point to a table's metadata file: Hive and Glue."""

from collections.abc import Mapping
from typing import ClassVar

from pyiceberg.catalog import METADATA_LOCATION, TABLE_TYPE
from pyiceberg.exceptions import NoSuchNamespaceError
from pyiceberg.table import Table
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties

from floe.catalogs.exceptions import TableUnsuitable
from floe.catalogs.metadata_files import read_metadata
from floe.catalogs.providers.staged_commit import StagedCommit, committed_table
from floe.catalogs.table_trust import check_table_properties


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
