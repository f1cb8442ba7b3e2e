"""Java's own type of stores, JKS, as ``sun.security.provider.JavaKeyStore`` writes it.

    magic FEEDFEED, version, number of entries       4 bytes each
    per entry: kind (1 a key, 2 a certificate)       4
               alias                                 2 + its bytes
               time                                  8
               a key only: encrypted key             4 + its bytes
                           number of certificates    4
               each certificate: its type            2 + its bytes (none in version 1)
                                 content in DER      4 + its bytes
    SHA-1 of the password, a fixed text and the above

A key is encrypted with a key stream of SHA-1 hashes of the password, and has a hash of its own, which a wrong password fails.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from floe.tls.entries import Damaged, Entries, KeyEntry, WrongPassword
from floe.tls.pem import CERTIFICATE, PRIVATE_KEY, pem_of

MAGIC: Final = b"\xfe\xed\xfe\xed"
_HASHED: Final = b"Mighty Aphrodite"
"""What Java puts between the password and the content."""

_HASH_BYTES: Final = 20
_PROTECTED: Final = bytes.fromhex("060a2b060104012a02110101")
"""The object identifier of the encryption of keys, 1.3.6.1.4.1.42.2.17.1.1, in DER."""

_KEY, _TRUSTED = 1, 2
_VERSIONS: Final = (1, 2)


def read_jks(content: bytes, password: str) -> Entries:
    """Read a store. Without a password it is not checked whether the content was changed, as in Java.

    A key's own certificate is trusted, too, as in Java. Raises WrongPassword, Damaged.
    """
    body, digest = content[:-_HASH_BYTES], content[-_HASH_BYTES:]
    if password and not hmac.compare_digest(_sha1(_utf_16(password) + _HASHED + body), digest):
        raise WrongPassword
    reader = _Reader(body, len(MAGIC))
    version = reader.number()
    if version not in _VERSIONS:
        msg = f"version {version} of the type JKS is unknown"
        raise Damaged(msg)
    trusted, keys = list[str](), list[KeyEntry]()
    for _ in range(reader.number()):
        kind, alias = reader.number(), reader.text()
        reader.take(8)
        if kind == _KEY:
            protected = reader.block()
            chain = tuple(reader.certificate(version) for _ in range(reader.number()))
            keys.append(KeyEntry(alias, chain, lambda given, key=protected: _decrypted(key, given)))  # type: ignore[misc]
            trusted += chain[:1]
        elif kind == _TRUSTED:
            trusted.append(reader.certificate(version))
        else:
            msg = f"an entry has the unknown kind {kind}"
            raise Damaged(msg)
    return Entries(tuple(trusted), tuple(keys))


@dataclass
class _Reader:
    """Reads a content from ``at`` on. Raises Damaged behind its end."""

    content: bytes
    at: int

    def take(self, nbytes: int) -> bytes:
        found = self.content[self.at : self.at + nbytes]
        if len(found) < nbytes:
            msg = "the content ends within an entry"
            raise Damaged(msg)
        self.at += nbytes
        return found

    def number(self, layout: str = ">I") -> int:
        return int(struct.unpack(layout, self.take(struct.calcsize(layout)))[0])

    def block(self) -> bytes:
        return self.take(self.number())

    def text(self) -> str:
        return self.take(self.number(">H")).decode("utf-8", "replace")

    def certificate(self, version: int) -> str:
        if version > 1:
            self.text()
        return pem_of(CERTIFICATE, self.block())


def _decrypted(protected: bytes, password: str) -> str:
    """Return a key as PEM."""
    at = protected.find(_PROTECTED, 0, 40)
    # behind the algorithm, which has no parameters: a byte string
    content = _byte_string(protected, at + len(_PROTECTED)) if at >= 0 else b""
    if len(content) <= 2 * _HASH_BYTES:
        msg = "a key is not encrypted as keys of the type JKS are"
        raise Damaged(msg)
    secret = _utf_16(password)
    salt, encrypted, digest = content[:_HASH_BYTES], content[_HASH_BYTES:-_HASH_BYTES], content[-_HASH_BYTES:]
    stream = b"".join(islice(_hashes(secret, salt), -(-len(encrypted) // _HASH_BYTES)))
    key = bytes(one ^ other for one, other in zip(encrypted, stream, strict=False))
    if not hmac.compare_digest(_sha1(secret + key), digest):
        raise WrongPassword(is_of_key=True)
    return pem_of(PRIVATE_KEY, key)


def _hashes(secret: bytes, salt: bytes) -> Iterator[bytes]:
    found = salt
    while True:
        found = _sha1(secret + found)
        yield found


def _byte_string(der: bytes, at: int) -> bytes:
    """Return the first byte string from a place on; b"" if there is none."""
    if der[at : at + 2] == b"\x05\x00":
        at += 2
    if der[at : at + 1] != b"\x04":
        return b""
    size = der[at + 1] if len(der) > at + 1 else 0
    start = at + 2
    if size > 127:
        start += size - 128
        size = int.from_bytes(der[at + 2 : start], "big")
    found = der[start : start + size]
    return found if len(found) == size else b""


def _sha1(content: bytes) -> bytes:
    return hashlib.sha1(content).digest()  # noqa: S324 - the format has it


def _utf_16(password: str) -> bytes:
    return password.encode("utf-16-be", "surrogatepass")
