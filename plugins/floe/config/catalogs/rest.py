"""Iceberg's REST catalogs."""

from typing import Final

from floe.config.catalogs.base import CatalogType

REST: Final = CatalogType("rest", implementations=("org.apache.iceberg.rest.RESTCatalog",))
