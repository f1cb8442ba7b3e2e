"""Java's modified UTF-8 (``DataOutputStream.writeUTF``)."""

from __future__ import annotations

import re
import struct
from typing import Final

MAX_TEXT_BYTES = 0xFFFF
"""The maximum length that the two bytes in front of a text can represent."""

_FOUR_BYTES: Final = re.compile(rb"[\xf0-\xff]")


def to_modified_utf8(text: str) -> bytes:
    """Return a text as ``DataOutputStream.writeUTF`` writes it: NUL in two bytes, surrogates one by one."""
    units = text if text.isascii() else utf16_units(text)
    return units.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")


def from_modified_utf8(data: bytes) -> str:
    """Return the text that ``DataInputStream.readUTF`` reads; raises UnicodeError."""
    if data.isascii():
        return data.decode("ascii")
    if _FOUR_BYTES.search(data):
        message = "a character in four bytes, which Java writes as two surrogates"
        raise UnicodeError(message)
    units = data.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
    return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")


def utf16_units(text: str) -> str:
    """Return a text with each character beyond U+FFFF as the two surrogates that Java sees."""
    packed = text.encode("utf-16-be", "surrogatepass")
    return "".join(map(chr, struct.unpack(f">{len(packed) // 2}H", packed)))
