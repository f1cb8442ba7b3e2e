"""Java's texts as bytes."""

from __future__ import annotations


def utf8(text: str) -> bytes:
    """Encode a text as Java does: halves of a pair are one character, and a half alone is a question mark."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return paired.encode("utf-8", "replace")
