"""Keys of every catalog in Java: its own, and those of the stores behind it."""

from collections.abc import Iterator, Mapping
from typing import Final

from floe.config.catalogs import cloud_stores, s3
from floe.config.catalogs.base import CatalogKey
from floe.config.catalogs.common import COMMON_KEYS

STORE_KEYS: Final[tuple[CatalogKey, ...]] = (
    *COMMON_KEYS,
    *s3.CLASS_KEYS,
    *s3.SWITCH_KEYS,
    *s3.S3_KEYS,
    *cloud_stores.GCS_KEYS,
    *cloud_stores.ADLS_KEYS,
)
"""By Java's names. PyIceberg's own are in ``floe.config.libraries.library_settings``."""


def store_problems(given: Mapping[str, str]) -> Iterator[str]:
    """Yield values that no store of floe's can have."""
    yield from s3.problems(given)


def store_values(given: Mapping[str, str], made: Mapping[str, str]) -> dict[str, str]:
    """Return values in PyIceberg's form; ``given``: as the file has them, ``made``: by PyIceberg's names."""
    return s3.to_pyiceberg(given, made)
