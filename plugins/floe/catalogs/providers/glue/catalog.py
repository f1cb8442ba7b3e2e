"""PyIceberg's Glue catalog, with floe's commits.

A commit names the version of Glue's table that it is based on. Glue refuses it with ConcurrentModificationException if
there is another one by then.
"""

from typing import Any

from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.table import Table
from pyiceberg.typedef import Identifier

from floe.catalogs.exceptions import TableUnsuitable
from floe.catalogs.providers.database_tables import DatabaseTables
from floe.config.catalogs.glue import GLUE


class CheckedGlueCatalog(DatabaseTables, GlueCatalog):
    """The Glue catalog that floe opens instead of PyIceberg's."""

    service = "Glue"
    migration = "Migrate it"

    def create_table(self, identifier: str | Identifier, *args: Any, **kwargs: Any) -> Table:
        """Create a table. Raises TableUnsuitable for a name that Glue does not take."""
        name = ".".join(self.identifier_to_tuple(identifier))
        if problem := GLUE.name_problem(name):
            msg = f"table {name!r} cannot be created in Glue: {problem}. Nothing was created"
            raise TableUnsuitable(msg)
        return super().create_table(identifier, *args, **kwargs)

    def _convert_glue_to_iceberg(self, glue_table: Any) -> Table:
        name = (str(glue_table.get("DatabaseName")), glue_table["Name"])
        return self.table_at(name, glue_table.get("Parameters", {}))
