"""Every type of catalog, and which provider opened the catalog of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from floe.catalogs import pyiceberg_patches
from floe.catalogs.exceptions import CatalogMisconfigured
from floe.catalogs.providers.base import CatalogProvider
from floe.catalogs.providers.glue.provider import GlueProvider
from floe.catalogs.providers.hadoop.provider import HadoopProvider
from floe.catalogs.providers.hive.provider import HiveProvider
from floe.catalogs.providers.nessie.provider import NessieProvider
from floe.catalogs.providers.rest.provider import RestProvider
from floe.catalogs.providers.sql.provider import SqlProvider

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

    from floe.config.sections.catalog import CatalogSpec

PROVIDERS: dict[str, CatalogProvider] = {
    "sql": SqlProvider(),
    "rest": RestProvider(),
    "hadoop": HadoopProvider(),
    "nessie": NessieProvider(),
    "hive": HiveProvider(),
    "glue": GlueProvider(),
}
"""By the name that ``floe.config.catalogs.registry`` has for the type."""

_OPENED: WeakKeyDictionary[Catalog, CatalogProvider] = WeakKeyDictionary()
"""By catalog, not by a property of it: a REST server answers with properties."""


def open_with_provider(spec: CatalogSpec) -> Catalog:
    """Open a catalog by the provider of its type. Raises the provider's errors, and those of ``provider_named``."""
    provider = provider_named(spec)
    if not provider.has_atomic_commit:
        msg = (
            f"catalog {spec.name!r} of type {spec.type!r} cannot swap a table's metadata in one step, so two commits at once "
            "could lose rows. Nothing was read or written. Use another catalog."
        )
        raise CatalogMisconfigured(msg)
    pyiceberg_patches.apply()
    catalog = provider.open(spec)
    _OPENED[catalog] = provider
    return catalog


def provider_named(spec: CatalogSpec) -> CatalogProvider:
    """Return the provider of a catalog's type. Raises ValueError for a type without one."""
    provider = PROVIDERS.get(spec.type)
    if provider is None:
        msg = f"there is no provider for its type {spec.type!r}, only for {', '.join(map(repr, PROVIDERS))}"
        raise ValueError(msg)
    return provider


def provider_of(table: Table) -> CatalogProvider:
    """Return the provider that opened a table's catalog. Raises LookupError for a catalog that floe did not open."""
    try:
        return _OPENED[table.catalog]
    except KeyError:
        msg = f"the catalog of table {'.'.join(table.name())!r} was not opened by floe: open it by floe.catalogs.client"
        raise LookupError(msg) from None
