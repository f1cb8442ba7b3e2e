"""PyIceberg's Glue catalog, with floe's commits.

A commit names the version of Glue's table that it is based on. Glue refuses it with ConcurrentModificationException if
there is another one by then.
"""

from typing import Any

from pyiceberg.catalog import METADATA_LOCATION, TABLE_TYPE
from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.exceptions import NoSuchNamespaceError
from pyiceberg.table import Table
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties

from floe.catalogs.exceptions import TableUnsuitable
from floe.catalogs.metadata_files import read_metadata
from floe.catalogs.providers.staged_commit import StagedCommit, committed_table
from floe.catalogs.table_trust import check_table_properties


class CheckedGlueCatalog(StagedCommit, GlueCatalog):
    """The Glue catalog that floe opens instead of PyIceberg's."""

    def create_namespace(self, namespace: str | Identifier, properties: Properties = EMPTY_DICT) -> None:
        """Create a database. Raises NamespaceAlreadyExistsError, TableUnsuitable for a namespace in another."""
        names = self.identifier_to_tuple(namespace)
        if len(names) != 1:
            msg = (
                f"{'.'.join(names)!r} cannot be a namespace in Glue, which has databases without others in them: name the "
                "table database.table"
            )
            raise TableUnsuitable(msg)
        super().create_namespace(namespace, properties)

    def list_tables(self, namespace: str | Identifier) -> list[Identifier]:
        """List the Iceberg tables of a database. Raises NoSuchNamespaceError."""
        if len(self.identifier_to_tuple(namespace)) != 1:
            msg = f"Namespace does not exist: {namespace}"
            raise NoSuchNamespaceError(msg)
        return super().list_tables(namespace)

    def _convert_glue_to_iceberg(self, glue_table: Any) -> Table:
        name = (str(glue_table.get("DatabaseName")), glue_table["Name"])
        parameters = glue_table.get("Parameters", {})
        location = parameters.get(METADATA_LOCATION)
        if parameters.get(TABLE_TYPE, "").lower() != "iceberg" or not location:
            msg = (
                f"{'.'.join(name)!r} is in Glue and is no Iceberg table: nothing was committed to it. Migrate it, or give "
                "floe's table another name"
            )
            raise TableUnsuitable(msg)
        known = committed_table()
        if known is not None and known.metadata_location == location:
            metadata = known.metadata  # a metadata file is written once, and never changed
        else:
            metadata = read_metadata(self._load_file_io(location=location).new_input(location))
        check_table_properties(".".join(name), metadata.properties)
        return Table(name, metadata, location, self._load_file_io(metadata.properties, location), self)
