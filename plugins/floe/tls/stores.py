"""Key and trust stores: files that Java's clients are given, of the types JKS, PKCS12 and PEM."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from floe.tls.key_store import (
    FIRST_BYTE,
    MAGIC,
    Damaged,
    Entries,
    WrongPassword,
    has_pem,
    read_jks,
    read_pem,
    read_pkcs12,
)
from floe.tls.store_file import CONVERT, TYPES, StoreFile, StoreUnusable

MAX_BYTES: Final = 16 << 20
_OTHER_TYPES: Final = {b"\xce\xce\xce\xce": "JCEKS"}


@dataclass(frozen=True)
class TlsIdentity:
    """A client's certificate with those of its issuers, and its private key: PEM texts.

    ``key_password``: the one that the key is still encrypted with, which only a key of a PEM file is; "" for none.
    """

    certificates: str
    key: str = field(repr=False)
    key_password: str = field(default="", repr=False)


def trusted_certificates(store: StoreFile) -> str:
    """Return the certificates that a trust store trusts, as one PEM text. Raises StoreUnusable."""
    found = _entries(store).trusted
    if not found:
        raise _unusable(store, "it has no certificate: import the authority's (keytool -importcert -file ca.crt)")
    return "".join(found)


def identity(store: StoreFile, key_password: str = "") -> TlsIdentity:
    """Return the certificate and the private key of a key store.

    ``key_password``: that of the private key; without one it is the store's, as in Java. Raises StoreUnusable.
    """
    found = _entries(store).keys
    if len(found) != 1:
        why = f"it has {len(found)} private keys: leave one in it" if found else "it has no private key: import it"
        raise _unusable(store, f"{why} (keytool -importkeystore -srcalias)")
    (entry,) = found
    if not entry.chain:
        raise _unusable(store, "it has no certificate of its private key: put both into it")
    with _explained(store):
        key = entry.key(key_password or store.password)
    return TlsIdentity("".join(entry.chain), key, key_password if "ENCRYPTED" in key else "")


def _entries(store: StoreFile) -> Entries:
    content = _content(store)
    with _explained(store):
        if content.startswith(MAGIC):
            return read_jks(content, store.password)
        if has_pem(content):
            return read_pem(content)
        if content.startswith(FIRST_BYTE):
            return read_pkcs12(content, store.password)
    other = _OTHER_TYPES.get(content[:4], "")
    why = (
        f"its type is {other}, which floe does not read" if other else f"it is of none of the types {', '.join(TYPES)}"
    )
    raise _unusable(store, f"{why}: {CONVERT}")


def _content(store: StoreFile) -> bytes:
    """Read the file where this process runs."""
    try:
        # opening a pipe this way does not wait for its other end
        descriptor = os.open(store.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
            content = _read(descriptor) if is_file else b""
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise _unusable(
            store, f"it cannot be read: {why}. Put it there on every machine that connects, readable for floe's user"
        ) from None
    if not is_file or len(content) > MAX_BYTES:
        what = f"it has more than {MAX_BYTES} bytes" if is_file else "it is no file"
        raise _unusable(store, f"{what}: name a store")
    return content


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb", closefd=False) as stream:
        return stream.read(MAX_BYTES + 1)


@contextmanager
def _explained(store: StoreFile) -> Iterator[None]:
    """Raise what is wrong with the content as StoreUnusable."""
    try:
        yield
    except WrongPassword as error:
        raise _unusable(store, _password_problem(store, error)) from None
    except Damaged as error:
        raise _unusable(store, f"it is damaged: {error}. Copy it again") from None


def _password_problem(store: StoreFile, error: WrongPassword) -> str:
    if error.is_of_key:
        return (
            f"the password of its private key is wrong: set {store.key_password_option}, which is that of the store "
            "unless it is set"
        )
    if not store.password:
        return f"it needs a password: set {store.password_option}"
    return f"its password is wrong, or the file is damaged: correct {store.password_option} (keytool -list checks it)"


def _unusable(store: StoreFile, why: str) -> StoreUnusable:
    return StoreUnusable(f"{store.option} {store.path[:500]!r}: {why}")
