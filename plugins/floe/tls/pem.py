"""PEM texts, and files of them."""

from __future__ import annotations

import base64
import re
from typing import Final

from floe.tls.entries import Damaged, Entries, KeyEntry

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
