"""A catalog type's declaration: a SQLite file and a warehouse in one folder, which a key names."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from floe.config.catalogs import sql
from floe.config.catalogs.base import PREFIX, CatalogType, refused, taken
from floe.config.engine import Engine
from floe.config.secrets.detection import is_reference

FOLDER: Final = "example.folder"
"""Without ``iceberg.catalog.``, as all keys here."""

_ABSOLUTE: Final = re.compile(r"/(?!/)[^?#%\x00-\x1f]*")


def problems(given: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong with the keys. What a reference stands for is checked when the catalog is opened."""
    folder = given.get(FOLDER, "").strip()
    if not folder:
        yield f"{PREFIX}{FOLDER} is missing: set it to the folder of the catalog, such as /lake"
    elif not is_reference(folder) and not _ABSOLUTE.fullmatch(folder):
        yield (
            f"{PREFIX}{FOLDER} {folder[:200]!r} is no folder: write an absolute local path, such as /lake, without ?, #, % "
            "and control characters"
        )


def _with_addresses(given: Mapping[str, str]) -> dict[str, str]:
    folder = given.get(FOLDER, "").strip().rstrip("/")
    others = {key: value for key, value in given.items() if key != FOLDER}
    return {**others, "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/warehouse"}


def _to_pyiceberg(given: Mapping[str, str]) -> dict[str, str]:
    return sql.to_pyiceberg(_with_addresses(given))


def _to_spark(given: Mapping[str, str]) -> dict[str, str]:
    return sql.to_spark(_with_addresses(given))


FOLDER_CATALOG: Final = CatalogType(
    "example-folder",
    Engine("floe_example.folder_provider:FolderProvider"),
    keys=(
        taken(FOLDER, "the folder of catalog.db and warehouse"),
        refused("uri", f"the catalog is catalog.db in {PREFIX}{FOLDER}. Remove it"),
        refused("warehouse", f"the warehouse is a folder in {PREFIX}{FOLDER}. Remove it"),
    ),
    problems=problems,
    to_pyiceberg=_to_pyiceberg,
    to_spark=_to_spark,
    library="sql",
    has_address=False,
)
