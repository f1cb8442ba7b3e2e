"""Java's format of properties, as ``java.util.Properties.load`` reads it."""

import re
from collections.abc import Iterator
from typing import Final

_LINE: Final = re.compile(r"\r\n|\r|\n")
_BLANK: Final = " \t\f"
_SEPARATORS: Final = frozenset("=: \t\f")
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_UNICODE: Final = re.compile(r"[0-9A-Fa-f]{4}")


class MalformedProperties(ValueError):
    """A text is not in the format; the message names the line, and shows none of its text."""


def parse_properties(text: str) -> dict[str, str]:
    """Read keys and values. Of a key that is given several times the last value counts, as in Java.

    :raises MalformedProperties: a ``\\u`` without four hexadecimal digits, half of a surrogate pair, or a NUL character.
    """
    found: dict[str, str] = {}
    for number, line in _logical_lines(text):
        end = _end_of_key(line)
        rest = line[end:].lstrip(_BLANK)
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(_BLANK)
        found[_unescaped(line[:end], number)] = _unescaped(rest, number)
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines that are neither blank nor comments, joined where they are continued, with the number of the first."""
    joined, first = "", 0
    for number, natural in enumerate(_LINE.split(text), 1):
        line = natural.lstrip(_BLANK)
        if not first and (not line or line[0] in "#!"):
            continue
        first = first or number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            joined += line[:-1]
            continue
        joined += line
        if joined:
            yield first, joined
        joined, first = "", 0
    if joined:
        yield first, joined


def _end_of_key(line: str) -> int:
    """Return where the key ends: at the first separator that is not escaped."""
    at = 0
    while at < len(line) and line[at] not in _SEPARATORS:
        at += 2 if line[at] == "\\" else 1
    return min(at, len(line))


def _unescaped(text: str, number: int) -> str:
    if "\\" not in text:
        return _checked(text, number)
    parts: list[str] = []
    at = 0
    while (found := text.find("\\", at)) >= 0:
        parts.append(text[at:found])
        kind = text[found + 1 : found + 2]
        at = found + 2
        if kind == "u":
            if _UNICODE.match(text, at) is None:
                msg = f"line {number}: \\u needs four hexadecimal digits behind it"
                raise MalformedProperties(msg)
            kind = chr(int(text[at : at + 4], 16))
            at += 4
        else:
            kind = _ESCAPES.get(kind, kind)
        parts.append(kind)
    return _checked("".join([*parts, text[at:]]), number)


def _checked(text: str, number: int) -> str:
    """Return a text with its surrogate pairs joined."""
    if text.isascii():
        joined = text
    else:
        try:
            joined = text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            msg = f"line {number}: \\u has half of a surrogate pair: write both halves"
            raise MalformedProperties(msg) from None  # the cause would carry the text, a secret perhaps
    if "\0" in joined:
        msg = f"line {number}: a NUL character: no name and no path has one; write it without"
        raise MalformedProperties(msg)
    return joined
