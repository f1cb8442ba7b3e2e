"""Every type of catalog that a connector may name; a new one of floe's needs a ``CatalogType`` here."""

from __future__ import annotations

from typing import Final

from floe.config.catalogs.base import CatalogType
from floe.config.catalogs.glue import GLUE
from floe.config.catalogs.hadoop import HADOOP
from floe.config.catalogs.hive import HIVE
from floe.config.catalogs.nessie import NESSIE
from floe.config.catalogs.rest import REST
from floe.config.catalogs.sql import SQL
from floe.config.extensions import Registry, unusable

_OWN: Final = {kind.name: kind for kind in (SQL, REST, HIVE, GLUE, NESSIE, HADOOP)}


def _spellings(name: str) -> tuple[str, ...]:
    return (name.lower(), *(_OWN[name].aliases if name in _OWN else ()))


TYPES: Final = Registry("floe.catalogs", CatalogType, _OWN, _spellings)
"""By name, which is PyIceberg's where PyIceberg has the catalog. Others may also be declared by a class of Java's."""


def type_named(name: str) -> CatalogType | None:
    """Return the type that a value of ``iceberg.catalog.type``, in lower case, means; None for one that is not supported.

    Raises ExtensionUnusable.
    """
    own = next((kind for kind in TYPES.own.values() if name in (kind.name, *kind.aliases)), None)
    return own or _added(name)


def type_of_class(name: str) -> CatalogType | None:
    """Return the type that a class of ``iceberg.catalog.catalog-impl`` means; None for one that is not supported.

    Raises ExtensionUnusable.
    """
    own = next((kind for kind in TYPES.own.values() if name in kind.implementations), None)
    return own or (_added(name) if "." in name else None)


def _added(name: str) -> CatalogType | None:
    """Return the type that an extension declares by a name, in any case. Raises ExtensionUnusable."""
    found = next((one for text in (name, name.lower()) for one in TYPES.full_names(text)), "")
    declared = TYPES.declared(found)
    if declared is None:
        return None
    kind = TYPES[found]
    if kind.name not in TYPES.added:
        raise unusable(declared, f"is named {kind.name!r:.100}: it has to be declared by that name too")
    return kind


def type_names() -> str:
    """List the types for a message."""
    *most, last = (name for name in TYPES if "." not in name)
    return f"{', '.join(most)} or {last}" if most else last
