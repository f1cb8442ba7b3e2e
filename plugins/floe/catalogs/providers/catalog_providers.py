"""The provider of each type of catalog, and which one opened the catalog of a table."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from floe.catalogs import pyiceberg_patches
from floe.catalogs.exceptions import CatalogMisconfigured
from floe.catalogs.providers.base import CatalogProvider
from floe.config.catalogs.catalog_types import TYPES

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

    from floe.config.engine import Engine
    from floe.config.sections.catalog import CatalogSpec


_OPENED: WeakKeyDictionary[Catalog, CatalogProvider] = WeakKeyDictionary()
"""By catalog, not by a property of it: a REST server answers with properties."""


def open_with_provider(spec: CatalogSpec) -> Catalog:
    """Open a catalog by the provider of its type. Raises the provider's errors, and those of ``provider_named``."""
    provider = provider_named(spec.type)
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


def provider_named(kind: str) -> CatalogProvider:
    """Return the provider of a type of catalog, which is loaded when it is first asked for.

    Raises ValueError for a type that there is not, and ImportError for one whose library is not installed.
    """
    if kind not in TYPES:
        msg = f"there is no provider for its type {kind!r}, only for {', '.join(map(repr, TYPES))}"
        raise ValueError(msg)
    return _made(TYPES[kind].provider)


@cache
def _made(provider: Engine) -> CatalogProvider:
    made: CatalogProvider = provider()
    return made


def provider_of(table: Table) -> CatalogProvider:
    """Return the provider that opened a table's catalog. Raises LookupError for a catalog that floe did not open."""
    try:
        return _OPENED[table.catalog]
    except KeyError:
        msg = f"the catalog of table {'.'.join(table.name())!r} was not opened by floe: open it by floe.catalogs.client"
        raise LookupError(msg) from None
