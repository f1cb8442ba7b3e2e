"""Catalogs in an SQL database, over SQLAlchemy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from floe.catalogs.errors import Answer, answer_of
from floe.catalogs.metadata_files import remove_old_metadata
from floe.catalogs.providers.base import PlainProvider, catalog_settings, settings_with_address
from floe.catalogs.providers.sql.errors import answer_of_database, missing_database, tls_problem
from floe.config.catalogs.sql import SQL
from floe.config.secrets.detection import shown_address

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

    from floe.config.sections.catalog import CatalogSpec

_NO_SQLITE_FILE = "unable to open database file"
"""SQLite's message for a path where no file can be created."""

_DRIVERS = {
    "psycopg": "airflow-provider-floe[postgresql]",
    "psycopg2": "psycopg2-binary, or take postgresql+psycopg:// and airflow-provider-floe[postgresql]",
    "pymysql": "PyMySQL",
    "MySQLdb": "mysqlclient, or take mysql+pymysql:// and PyMySQL",
}
"""What to install, by the module that SQLAlchemy imports."""


class SqlProvider(PlainProvider):
    """A catalog in an SQL database. The client writes metadata files and swaps the row that names the current one."""

    modules = ("floe.catalogs.providers.sql.catalog",)

    def open(self, spec: CatalogSpec) -> Catalog:
        """Open it. Raises ValueError without an address, or for one of no database; ImportError without its driver."""
        # it imports SQLAlchemy, which takes a second and which other catalogs do not need
        from floe.catalogs.providers.sql.catalog import CheckedSqlCatalog

        settings = self._settings(spec)
        if problem := next(SQL.problems(settings), None):
            raise ValueError(problem)
        try:
            return CheckedSqlCatalog(spec.name, **settings)
        except ModuleNotFoundError as error:
            missing = str(error.name)
            msg = f"the database's driver {missing!r} is not installed here: install {_DRIVERS.get(missing, missing)}"
            raise ImportError(msg) from error

    def _settings(self, spec: CatalogSpec) -> dict[str, Any]:
        """Return the settings for SQLAlchemy: address, user and password may be of two configurations."""
        return SQL.to_pyiceberg(settings_with_address(spec))

    def classify(self, error: Exception, *, was_sent: bool) -> Answer:
        """Tell what the database refuses, and what it did not carry out, from what it may have."""
        found = answer_of_database(error, was_sent=was_sent)
        return found if found is not None else answer_of(error, was_sent=was_sent)

    def misconfiguration(self, spec: CatalogSpec, error: Exception) -> str | None:
        """Name a SQLite file that cannot be made, a database that a server does not have, and TLS that fails."""
        address = shown_address(str(catalog_settings(spec).get("uri", "")))
        if said := tls_problem(error):
            return (
                f"catalog {spec.name!r}: no trusted connection to the database at {address!r} ({said}). Nothing was read or "
                "written. Correct iceberg.catalog.jdbc.sslmode and iceberg.catalog.jdbc.sslrootcert, for MySQL "
                "iceberg.catalog.jdbc.sslMode."
            )
        if missing_database(error):
            return (
                f"catalog {spec.name!r} has no database at {address!r}: the server knows none of that name. Nothing was read "
                "or written. Create it, or correct the uri in iceberg.catalog.* or in PyIceberg's configuration."
            )
        if _NO_SQLITE_FILE not in str(error):
            return None
        return (
            f"catalog {spec.name!r} has no SQLite file at {address!r}: the file cannot be opened or made. Nothing was "
            "read or written. Create its folder, or correct the uri in iceberg.catalog.* or in PyIceberg's configuration."
        )

    def tidy(self, table: Table, after: TableMetadata) -> None:
        """Remove old metadata files: there is no server that removes them."""
        remove_old_metadata(table, after)
