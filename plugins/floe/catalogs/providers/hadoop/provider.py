"""Catalogs of folders, as Java's HadoopCatalog."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from floe.catalogs.metadata_files import remove_old_metadata
from floe.catalogs.providers.base import PlainProvider, catalog_settings
from floe.config.catalogs.hadoop import warehouse_folder

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

    from floe.config.sections.catalog import CatalogSpec


class HadoopProvider(PlainProvider):
    """floe's own Hadoop catalog: a commit makes the next version by a link, which fails if it exists."""

    modules = ("floe.catalogs.providers.hadoop.catalog",)

    def open(self, spec: CatalogSpec) -> Catalog:
        """Open it. Raises ValueError for a warehouse that is missing, or where versions cannot be made in one step."""
        from floe.catalogs.providers.hadoop.catalog import HadoopCatalog

        settings = catalog_settings(spec)
        warehouse = settings.get("warehouse")
        if not warehouse:
            msg = (
                f"warehouse missing: set iceberg.catalog.warehouse or PYICEBERG_CATALOG__{spec.name.upper()}__WAREHOUSE"
            )
            raise ValueError(msg)
        folder = Path(warehouse_folder(str(warehouse)))
        if not folder.is_dir():
            # made here it would hide a file system that is not mounted
            msg = f"there is no folder {str(folder)!r} here: create it, or mount it where Airflow's and Spark's workers run"
            raise ValueError(msg)
        return HadoopCatalog(spec.name, **settings)

    def tidy(self, table: Table, after: TableMetadata) -> None:
        """Remove old metadata files: there is no server that removes them."""
        remove_old_metadata(table, after)
