"""Stores of the type PKCS12, by the package ``cryptography``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from floe.tls.entries import Damaged, Entries, KeyEntry, WrongPassword

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

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
