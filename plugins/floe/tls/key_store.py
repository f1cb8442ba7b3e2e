"""Keys and certificates in files: PEM, JKS and PKCS #12, read into the same entries."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from cryptography.x509 import Certificate


# What a store contains, whatever its type.


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


# PEM texts, and files of them.


CERTIFICATE: Final = "CERTIFICATE"
PRIVATE_KEY: Final = "PRIVATE KEY"
_BLOCK: Final = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----", re.DOTALL)
_LINE: Final = 64


def pem_of(label: str, der: bytes) -> str:
    """Return the PEM text of an object in DER."""
    text = base64.b64encode(der).decode()
    lines = (text[at : at + _LINE] for at in range(0, len(text), _LINE))
    return "\n".join((f"-----BEGIN {label}-----", *lines, f"-----END {label}-----\n"))


def has_pem(content: bytes) -> bool:
    """Whether a file has an object in PEM."""
    return _BLOCK.search(content) is not None


def read_pem(content: bytes) -> Entries:
    """Read the certificates of a file, and its first private key, whose certificates are all of them. Raises Damaged."""
    try:
        blocks = [(found[1].decode(), found[0].decode("ascii") + "\n") for found in _BLOCK.finditer(content)]
    except UnicodeDecodeError as error:
        msg = f"byte 0x{error.object[error.start]:02x} in a block of PEM is no ASCII"
        raise Damaged(msg) from None
    certificates = tuple(text for label, text in blocks if label == CERTIFICATE)
    keys = [text for label, text in blocks if label.endswith(PRIVATE_KEY)]
    entries = tuple(KeyEntry("", certificates, lambda _, key=key: key) for key in keys)  # type: ignore[misc]
    return Entries(certificates, entries)


# Java's own type of stores, JKS, as ``sun.security.provider.JavaKeyStore`` writes it.
#
# magic FEEDFEED, version, number of entries 4 bytes each per entry: kind (1 a key, 2 a certificate) 4 alias 2 + its
# bytes time 8 a key only: encrypted key 4 + its bytes number of certificates 4 each certificate: its type 2 + its
# bytes (none in version 1) content in DER 4 + its bytes SHA-1 of the password, a fixed text and the above
#
# A key is encrypted with a key stream of SHA-1 hashes of the password, and has a hash of its own, which a wrong
# password fails.


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


# Stores of the type PKCS12, by the package ``cryptography``.


_KEY_BAG: Final = bytes.fromhex("060b2a864886f70d010c0a0102")
"""Before each encrypted key (pkcs8ShroudedKeyBag in DER), in a part that keytool and OpenSSL do not encrypt as a whole."""

FIRST_BYTE: Final = b"\x30"
"""Of every object in DER, as this type is."""


def read_pkcs12(content: bytes, password: str) -> Entries:
    """Read a store. All of its certificates are trusted: they do not say for what they are there.

    Raises WrongPassword, also for content that is damaged within, and Damaged.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    def pem(certificate: Certificate) -> str:
        return certificate.public_bytes(Encoding.PEM).decode()

    try:
        found = _load(content, password)
    except UnsupportedAlgorithm as error:
        msg = f"its encryption is unknown: {error}"
        raise Damaged(msg) from None
    others = [one.certificate for one in found.additional_certs]
    own = found.cert
    trusted = [*([own.certificate] if own else []), *others]
    keys: tuple[KeyEntry, ...] = ()
    if found.key is not None:
        key = found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        chain = _chain(own.certificate, others) if own else []
        alias = (own.friendly_name or b"").decode("utf-8", "replace") if own else ""
        # the package returns one of several without a word
        keys = (KeyEntry(alias, tuple(map(pem, chain)), lambda _: key),) * max(1, content.count(_KEY_BAG))
    return Entries(tuple(map(pem, trusted)), keys)


def _load(content: bytes, password: str) -> Any:
    """Return the content; an empty password and none are two things, and both are tried."""
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    for secret in (password.encode(),) if password else (None, b""):
        try:
            return load_pkcs12(content, secret)
        except ValueError as error:
            if "password" not in str(error).lower():
                msg = f"{error}; a certificate by itself is no store (keytool -importcert makes one of it)"
                raise Damaged(msg) from None
    raise WrongPassword


def _chain(own: Certificate, others: list[Certificate]) -> list[Certificate]:
    """Return a certificate and those of its issuers, each before its own issuer."""
    found, left = [own], list(others)
    while issuer := next((one for one in left if one.subject == found[-1].issuer and one != found[-1]), None):
        found.append(issuer)
        left.remove(issuer)
    return found
