"""Catalogs in an SQL database: PyIceberg's ``sql``."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from floe.config.catalogs.base import PREFIX, CatalogType
from floe.config.secrets.detection import is_reference

_DIALECT: Final = re.compile(r"(sqlite|postgresql|mysql|mariadb|mssql|oracle)(\+[a-z0-9_]+)?")


def _problems(given: Mapping[str, str]) -> Iterator[str]:
    """Yield what SQLAlchemy would load by an address beside the databases that it knows. The address may be a secret."""
    uri = given.get("uri")
    if uri is None or is_reference(uri):
        return
    if not _DIALECT.fullmatch(uri.partition(":")[0]):
        yield f"{PREFIX}uri is of no database that SQLAlchemy has: sqlite, postgresql, mysql, mariadb, mssql and oracle"
    if re.search(r"[?&]plugin=", uri):
        yield f"{PREFIX}uri names a plugin of SQLAlchemy, which is code: only the operator's environment does. Leave it out"


SQL: Final = CatalogType("sql", problems=_problems)
