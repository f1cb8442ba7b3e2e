"""The keys of every catalog as Markdown: ``docs/reference/catalogs/keys.md``."""

from collections.abc import Iterable, Iterator
from typing import Final

from floe.config.catalogs.base import CatalogKey, KeyStatus
from floe.config.catalogs.catalog_types import TYPES
from floe.config.catalogs.stores import STORE_KEYS

_HEAD: Final = """# Keys of catalogs

What becomes of each `iceberg.catalog.*` key of Java's catalogs. PyIceberg's own names are taken too:
[configuration](../configuration.md#what-libraries-are-handed). Printed by `python -m floe.config catalogs`.
"""
_EVERY: Final = "Every catalog and its store"


def catalog_page() -> str:
    """Print the page: a table for each type, and one for what is in every catalog."""
    parts = [_HEAD]
    for kind in TYPES.own.values():
        values = " or ".join(f"`{name}`" for name in (kind.name, *kind.aliases))
        classes = ", ".join(f"`{name}`" for name in kind.implementations)
        also = f", or `iceberg.catalog.catalog-impl` {classes}" if classes else ""
        parts.append(f"## `{kind.name}`\n\n`iceberg.catalog.type` {values}{also}.\n\n{_table(kind.keys)}\n")
    parts.append(f"## {_EVERY}\n\n{_table(STORE_KEYS)}\n")
    return "\n".join(parts)


def _table(keys: Iterable[CatalogKey]) -> str:
    return "\n".join(("| key | | why |", "|---|---|---|", *_rows(keys)))


def _rows(keys: Iterable[CatalogKey]) -> Iterator[str]:
    seen: set[str] = set()
    for key in keys:
        if key.name in seen:
            continue
        seen.add(key.name)
        status = key.status.value
        if key.status is KeyStatus.TRANSLATED:
            status = f"translated to `{key.pyiceberg}`"
        if key.unless:
            status = f"{status}, unless `{key.unless}`"
        yield f"| `{_cell(key.name)}` | {status} | {_cell(key.note)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
