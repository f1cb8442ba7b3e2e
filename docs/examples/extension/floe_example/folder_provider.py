"""What opens the catalog: floe's SQL catalog, whose commits and errors are known, on the file in the folder.

A catalog that is none of floe's subclasses ``floe.catalogs.providers.base.PlainProvider``, and makes PyIceberg's in ``open``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from floe.catalogs.providers.sql.provider import SqlProvider
from floe_example.folder import FOLDER, problems

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from floe.config.sections.catalog import CatalogSpec


class FolderProvider(SqlProvider):
    """The provider of ``example-folder``."""

    def open(self, spec: CatalogSpec) -> Catalog:
        """Open it. Raises ValueError for a folder that cannot be one, which a reference may have given."""
        if (problem := next(problems(spec.properties), None)) is not None:
            raise ValueError(problem)
        return super().open(spec)

    def misconfiguration(self, spec: CatalogSpec, error: Exception) -> str | None:
        """Name the folder in which SQLite can open no file."""
        if "unable to open database file" not in str(error):
            return super().misconfiguration(spec, error)
        return (
            f"catalog {spec.name!r}: there is no folder {spec.properties.get(FOLDER, '')!r}, or it cannot be written to. "
            f"Nothing was read or written. Create it, or correct iceberg.catalog.{FOLDER}"
        )
