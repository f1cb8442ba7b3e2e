"""Character sets by the names that Java has for them, as codecs of Python."""

import codecs
import re
from typing import Final

ENCODING: Final = "converter.encoding"
"""The option with the character set of text; without it UTF-8."""

_JAVA_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:_+-]{0,59}", re.ASCII)
_IBM: Final = re.compile(r"(?:ibm|cp)_?0*(\d{3,5})", re.ASCII)
_NO_CHARSETS: Final = frozenset(
    {
        "base64",
        "bz2",
        "charmap",
        "hex",
        "idna",
        "mbcs",
        "oem",
        "punycode",
        "quopri",
        "rawunicodeescape",
        "rot13",
        "undefined",
        "unicodeescape",
        "utf7",
        "utf8sig",
        "uu",
        "zlib",
    }
)
"""Codecs of Python, in letters and digits, that are no character sets, or none of Java's."""

_OTHERS: Final = frozenset(
    {
        *(f"{prefix}{number}" for prefix in ("ibm", "cp") for number in (273, 424, 856, 874, 875, 949, 950, 1006)),
        *("maccyrillic", "macgreek", "maciceland", "macturkish"),
    }
)
"""Names of Java's by which Python has another character set."""

_ALIASES: Final = {"windows_31j": "cp932"}


def codec_of(charset: str) -> str | None:
    """Return the name of Python's codec for a character set of Java's, such as ``windows-1252``; None if there is none."""
    if not _JAVA_NAME.fullmatch(charset):
        return None
    name = re.sub(r"[^a-z0-9]+", "_", charset.lower()).removeprefix("x_")
    if name in _OTHERS:
        return None
    found = _codec(_ALIASES.get(name, name))
    if found is None and (ibm := _IBM.fullmatch(name)):
        found = _codec(f"cp{int(ibm[1])}") or _codec(f"cp{int(ibm[1]):03}")
    return found


def _codec(name: str) -> str | None:
    try:
        found = codecs.lookup(name).name
    except LookupError:
        return None
    return None if re.sub(r"[^a-z0-9]", "", found.lower()) in _NO_CHARSETS else found
