"""Keys of every catalog in Java: of its file system, and of the stores behind it."""

from typing import Final

from floe.config.catalogs.base import CatalogKey, no_effect

STORE_KEYS: Final[tuple[CatalogKey, ...]] = (
    no_effect("io-impl", "it names a Java class; PyIceberg chooses by the scheme of the location"),
    no_effect(
        "client.credentials-provider",
        "it names a Java class; set s3.access-key-id and s3.secret-access-key, or leave credentials to the environment",
    ),
    no_effect(
        "s3.path-style-access",
        "PyIceberg addresses by path at an s3.endpoint of its own, unless s3.force-virtual-addressing is true",
    ),
)
"""By Java's names. PyIceberg's own are in ``floe.config.libraries.library_settings``."""
