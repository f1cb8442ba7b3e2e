"""PyIceberg's Glue catalog, with floe's commits.

A commit names the version of Glue's table that it is based on. Glue refuses it with ConcurrentModificationException if
there is another one by then.
"""

from typing import Any

from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.table import Table

from floe.catalogs.providers.database_tables import DatabaseTables


class CheckedGlueCatalog(DatabaseTables, GlueCatalog):
    """The Glue catalog that floe opens instead of PyIceberg's."""

    service = "Glue"
    migration = "Migrate it"

    def _convert_glue_to_iceberg(self, glue_table: Any) -> Table:
        name = (str(glue_table.get("DatabaseName")), glue_table["Name"])
        return self.table_at(name, glue_table.get("Parameters", {}))
