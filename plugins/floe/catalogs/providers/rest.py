"""Iceberg's REST catalogs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floe.catalogs.providers.base import PlainProvider, settings_with_address
from floe.catalogs.pyiceberg_patches import guard_auth_managers

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from floe.config.sections.catalog import CatalogSpec


class RestProvider(PlainProvider):
    """PyIceberg's REST catalog, with floe's checks of its answers."""

    modules = ("pyiceberg.catalog.rest",)
    is_committed_by_server = True

    def open(self, spec: CatalogSpec) -> Catalog:
        """Open it. Raises CatalogMisconfigured if its answer is refused, ValueError without an address."""
        # it imports requests, which other catalogs do not need
        from floe.catalogs.providers.rest_catalog import CheckedRestCatalog

        guard_auth_managers()
        return CheckedRestCatalog(spec.name, **settings_with_address(spec))
