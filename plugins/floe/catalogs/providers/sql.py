"""Catalogs in an SQL database, over SQLAlchemy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floe.catalogs.metadata_files import remove_old_metadata
from floe.catalogs.providers.base import PlainProvider, catalog_settings, settings_with_address
from floe.config.secrets.detection import shown_address

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

    from floe.config.sections.catalog import CatalogSpec

_NO_SQLITE_FILE = "unable to open database file"
"""SQLite's message for a path where no file can be created."""


class SqlProvider(PlainProvider):
    """A catalog in an SQL database. The client writes metadata files and swaps the row that names the current one."""

    modules = ("pyiceberg.catalog.sql",)

    def open(self, spec: CatalogSpec) -> Catalog:
        """Open it. Raises ValueError without an address."""
        # it imports SQLAlchemy, which takes a second and which other catalogs do not need
        from floe.catalogs.providers.sql_catalog import CheckedSqlCatalog

        return CheckedSqlCatalog(spec.name, **settings_with_address(spec))

    def misconfiguration(self, spec: CatalogSpec, error: Exception) -> str | None:
        """Name a SQLite file that cannot be opened or created."""
        if _NO_SQLITE_FILE not in str(error):
            return None
        address = shown_address(str(catalog_settings(spec).get("uri", "")))
        return (
            f"catalog {spec.name!r} has no SQLite file at {address!r}: the file cannot be opened or made. Nothing was "
            "read or written. Create its folder, or correct the uri in iceberg.catalog.* or in PyIceberg's configuration."
        )

    def tidy(self, table: Table, after: TableMetadata) -> None:
        """Remove old metadata files: there is no server that removes them."""
        remove_old_metadata(table, after)
