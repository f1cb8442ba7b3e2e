"""Where a key or trust store is: a value of the configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

TYPES: Final = ("JKS", "PKCS12", "PEM")
"""What an option of a store's type may say. The content says which it is, as in Java, where JKS reads PKCS12 and reversed."""

CONVERT: Final = "convert the store (keytool -importkeystore -deststoretype PKCS12)"
"""What to do with a store of another type."""

_LOCATION: Final = "location"


@dataclass(frozen=True)
class StoreFile:
    """A store on disk. ``option``: the whole name of the option with its path, which ends in ``store.location``.

    ``password``: that of the store, "" where there is none.
    """

    path: str
    password: str = field(default="", repr=False)
    option: str = "ssl.truststore.location"

    @property
    def password_option(self) -> str:
        """The option of the store's password."""
        return f"{self.option.removesuffix(_LOCATION)}password"

    @property
    def key_password_option(self) -> str:
        """The option of the password of the private key in it."""
        return f"{self.option.removesuffix(f'keystore.{_LOCATION}')}key.password"


# Errors of stores.


class StoreUnusable(ValueError):
    """A key or trust store cannot be used. The message names the option, the path and what to do, and no password."""
