"""What a store contains, whatever its type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


class WrongPassword(ValueError):
    """The password of a store or of a key in it is wrong, or missing. ``is_of_key``: that of a key."""

    def __init__(self, *, is_of_key: bool = False) -> None:
        super().__init__()
        self.is_of_key = is_of_key


class Damaged(ValueError):
    """The content is not of the type that its first bytes say."""


@dataclass(frozen=True)
class KeyEntry:
    """A private key with its certificates: PEM texts, the key's own certificate first.

    ``key``: decrypts the key with a password, "" where there is none. Raises WrongPassword and Damaged. A key of a PEM file
    is returned as it is, encrypted perhaps.
    """

    alias: str
    chain: tuple[str, ...]
    key: Callable[[str], str]


@dataclass(frozen=True)
class Entries:
    """The certificates that a store trusts, as PEM texts, and its keys."""

    trusted: tuple[str, ...] = ()
    keys: tuple[KeyEntry, ...] = ()
