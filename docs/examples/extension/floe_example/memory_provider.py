"""What opens the catalog; all else that a provider answers is that of a catalog with an atomic commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyiceberg.catalog.memory import InMemoryCatalog

from floe.catalogs.providers.base import PlainProvider, settings_with_address

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from floe.config.sections.catalog import CatalogSpec


class InMemoryProvider(PlainProvider):
    """The provider of ``in-memory``."""

    def open(self, spec: CatalogSpec) -> Catalog:
        """Open the catalog."""
        return InMemoryCatalog(spec.name, **settings_with_address(spec))
