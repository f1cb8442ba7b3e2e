"""Every type of catalog that a connector may name.

A new type needs a ``CatalogType`` here, and a provider of the same name in ``floe.catalogs.providers``.
"""

from typing import Final

from floe.config.catalogs.base import CatalogType
from floe.config.catalogs.glue import GLUE
from floe.config.catalogs.hadoop import HADOOP
from floe.config.catalogs.hive import HIVE
from floe.config.catalogs.nessie import NESSIE
from floe.config.catalogs.rest import REST
from floe.config.catalogs.sql import SQL

TYPES: Final[dict[str, CatalogType]] = {kind.name: kind for kind in (SQL, REST, HIVE, GLUE, NESSIE, HADOOP)}
"""By the name of the provider, which is PyIceberg's where PyIceberg has the catalog."""


def type_named(name: str) -> CatalogType | None:
    """Return the type that a value of ``iceberg.catalog.type``, in lower case, means; None for one that is not supported."""
    return next((kind for kind in TYPES.values() if name in (kind.name, *kind.aliases)), None)


def type_of_class(name: str) -> CatalogType | None:
    """Return the type that a class of ``iceberg.catalog.catalog-impl`` means; None for one that is not supported."""
    return next((kind for kind in TYPES.values() if name in kind.implementations), None)


def type_names() -> str:
    """List the types for a message."""
    *most, last = TYPES
    return f"{', '.join(most)} or {last}" if most else last
