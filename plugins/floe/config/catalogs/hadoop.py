"""Catalogs of folders: Java's HadoopCatalog, on a file system with an atomic step."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from floe.config.catalogs.base import PREFIX, CatalogType, no_effect, refused
from floe.config.engine import Engine
from floe.config.secrets.detection import is_reference, shown_address

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?=/)")
_LOCAL: Final = re.compile(r"(?:file:(?://(?:localhost)?)?)?(/(?!/).*|/)", re.DOTALL | re.IGNORECASE)
_UNCLEAR: Final = re.compile(r"[?#%\x00-\x1f]")
_OTHERS: Final = "set iceberg.catalog.type to rest, sql or another type, which any store can be used with"

_KEYS: Final = (
    no_effect("uri", "a Hadoop catalog has no server; its tables are in iceberg.catalog.warehouse"),
    no_effect("suppress-permission-error", "a folder that floe may not list fails the run, which names it"),
    refused(
        "lock-impl",
        "it names a Java class. floe's commits lock the table's folder and never replace a version; remove it, and do not "
        "let Java's writers commit at the same time as floe",
    ),
    refused("lock.*", "it belongs to lock-impl: remove it"),
)


def warehouse_folder(warehouse: str) -> str:
    """Return the local folder of a warehouse. Raises ValueError, which says what to set, for any other place."""
    shown = shown_address(warehouse)[:200]
    local = _LOCAL.fullmatch(warehouse.strip())
    if local is not None and not _UNCLEAR.search(local[1]):
        return local[1].rstrip("/") or "/"
    scheme = _SCHEME.match(warehouse.strip())
    if local is not None:
        msg = f"warehouse {shown!r} has a character that is no part of a path in addresses (?, #, % or a control character)"
    elif scheme is None:
        msg = f"warehouse {shown!r} is no absolute path: write it from /, or as file:///"
    elif scheme[1].lower() == "file":
        msg = f"warehouse {shown!r} has a host: write file:///folder"
    elif scheme[1].lower() in ("hdfs", "viewfs", "webhdfs"):
        msg = (
            f"warehouse {shown!r} is in HDFS: floe has no rename there that fails if the version exists, so two commits at "
            f"once could lose rows. Mount it, or {_OTHERS}"
        )
    else:
        msg = (
            f"warehouse {shown!r} is in an object store: {scheme[1]}:// has no rename that fails if the version exists, so "
            f"two commits at once could lose rows: {_OTHERS}"
        )
    raise ValueError(msg)


def problems(given: Mapping[str, str]) -> Iterator[str]:
    """Yield why a warehouse cannot be a Hadoop catalog's."""
    warehouse = given.get("warehouse")
    if warehouse is None or is_reference(warehouse):
        return
    try:
        warehouse_folder(warehouse)
    except ValueError as error:
        yield f"{PREFIX}{error}"


HADOOP: Final = CatalogType(
    "hadoop",
    Engine("floe.catalogs.providers.hadoop.provider:HadoopProvider"),
    has_address=False,
    implementations=("org.apache.iceberg.hadoop.HadoopCatalog",),
    keys=_KEYS,
    problems=problems,
)
