"""The types of catalogs that a connector may name: how Java's keys are spelled for PyIceberg, and what is refused.

A new type needs a ``CatalogType`` in ``TYPES``, and a provider of the same name in ``floe.catalogs.providers``.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from floe.config.secrets.detection import is_reference

PREFIX: Final = "iceberg.catalog."

Check = Callable[[Mapping[str, str]], Iterator[str]]
"""Reads the keys of a catalog without their prefix, and yields what is missing or forbidden."""


def _nothing(_: Mapping[str, str]) -> Iterator[str]:
    return iter(())


@dataclass(frozen=True)
class CatalogType:
    """One type of catalog, as connector files name it. All keys are without ``iceberg.catalog.``.

    ``aliases``: other values of ``iceberg.catalog.type`` that mean the same. ``translations``: keys of the Java catalog, each
    with PyIceberg's. ``no_effect``: keys of the Java catalog that have no effect here, each with the reason.
    """

    name: str
    aliases: tuple[str, ...] = ()
    translations: Mapping[str, str] = field(default_factory=dict)
    no_effect: Mapping[str, str] = field(default_factory=dict)
    problems: Check = _nothing

    @property
    def own_keys(self) -> frozenset[str]:
        """Keys that this type knows beside PyIceberg's."""
        return frozenset((*self.translations, *self.no_effect))


_DIALECT: Final = re.compile(r"(sqlite|postgresql|mysql|mariadb|mssql|oracle)(\+[a-z0-9_]+)?")


def _sql_problems(given: Mapping[str, str]) -> Iterator[str]:
    """Yield what SQLAlchemy would load by an address beside the databases that it knows. The address may be a secret."""
    uri = given.get("uri")
    if uri is None or is_reference(uri):
        return
    if not _DIALECT.fullmatch(uri.partition(":")[0]):
        yield f"{PREFIX}uri is of no database that SQLAlchemy has: sqlite, postgresql, mysql, mariadb, mssql and oracle"
    if re.search(r"[?&]plugin=", uri):
        yield f"{PREFIX}uri names a plugin of SQLAlchemy, which is code: only the operator's environment does. Leave it out"


TYPES: Final[dict[str, CatalogType]] = {
    kind.name: kind
    for kind in (
        CatalogType("sql", problems=_sql_problems),
        CatalogType("rest"),
    )
}
"""Every type, by the name that PyIceberg has for it."""


def type_named(name: str) -> CatalogType | None:
    """Return the type that a value of ``iceberg.catalog.type``, in lower case, means; None for one that is not supported."""
    return next((kind for kind in TYPES.values() if name in (kind.name, *kind.aliases)), None)


def type_names() -> str:
    """List the types for a message."""
    *most, last = TYPES
    return f"{', '.join(most)} or {last}" if most else last
