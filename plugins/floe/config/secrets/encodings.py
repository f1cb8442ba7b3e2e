"""Texts with escapes undone: the text of a message under the quoting of Python, JSON, a URL or HTML.

Libraries escape different characters, in either case, and one library quotes the quoted text of another. So escapes are
undone in the message, for any library. Bytes that are not UTF-8 are read as Latin-1.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import unescape

_MAX_DEPTH = 2
"""Nested quotings of different kinds that are undone: JSON in a URL."""
_MAX_BACKSLASHES = 3
"""Nested quotings by backslashes that are undone: an answer in JSON, in JSON, shown by ``repr``."""


@dataclass(frozen=True)
class Reading:
    """A text with escapes undone, and the places of its characters in the text before that."""

    text: str
    _starts: list[int] = field(default_factory=list)
    """Start of an undone escape in this text, per escape."""
    _ends: list[int] = field(default_factory=list)
    _after: list[int] = field(default_factory=list)
    """Where the earlier text continues after the escape, per escape."""
    _before: "Reading | None" = None

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return the place of a part of this text in the original text."""
        if self._before is None:
            return start, end
        last = bisect_right(self._ends, end) - 1
        while last >= 0 and self._starts[last] == end:  # it became empty, and is after the part
            last -= 1
        return self._before.origin(self._place(start, bisect_right(self._ends, start) - 1), self._place(end, last))

    def _place(self, position: int, escape: int) -> int:
        return position if escape < 0 else self._after[escape] + position - self._ends[escape]

    def undone(self, escapes: re.Pattern[str], meaning: Callable[[str], str]) -> "Reading | None":
        """Undo escapes of one kind; None if there are none."""
        parts: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        after: list[int] = []
        done = length = 0
        for found in escapes.finditer(self.text):
            plain = meaning(found[0])
            parts += (self.text[done : found.start()], plain)
            starts.append(length + found.start() - done)
            length = starts[-1] + len(plain)
            done = found.end()
            ends.append(length)
            after.append(done)
        if not ends:
            return None
        return Reading("".join(parts) + self.text[done:], starts, ends, after, self)


def readings(text: str) -> Iterator[Reading]:
    """Yield a text unchanged, as one line, and with escapes undone: each kind, and one within another."""
    whole = Reading(text)
    yield whole
    if "\n" in text and (folded := whole.undone(_FOLD, lambda _: "")):
        yield folded
    level, seen = [whole], {text}
    for depth in range(1, _MAX_BACKSLASHES + 1):
        kinds = _KINDS if depth <= _MAX_DEPTH else _KINDS[:1]
        found = [inner for reading in level for kind in kinds if (inner := reading.undone(*kind)) is not None]
        level = []
        for reading in found:
            if reading.text not in seen:
                seen.add(reading.text)
                level.append(reading)
        yield from level


def _of_backslash(escape: str) -> str:
    mark = escape[1]
    if mark in "uUx" and len(escape) > 2:
        code = int(escape[2:].lstrip("u"), 16)
        return chr(code) if code <= 0x10FFFF else escape
    if mark in "01234567":
        return chr(int(escape[1:], 8))
    return _CONTROLS.get(mark, mark)


def _of_percent(escape: str) -> str:
    nbytes = bytes.fromhex(escape.replace("%", ""))
    try:
        return nbytes.decode()
    except UnicodeDecodeError:
        return nbytes.decode("latin-1")


def _of_entity(escape: str) -> str:
    if escape[1] != "#":
        return unescape(escape)
    code = int(escape[3:-1], 16) if escape[2] in "xX" else int(escape[2:-1])
    return chr(code) if code <= 0x10FFFF else escape


_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "a": "\a"}
_FOLD = re.compile(r"\r?\n[ \t]*")
_KINDS: tuple[tuple[re.Pattern[str], Callable[[str], str]], ...] = (
    (
        re.compile(r"\\(?:u+[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|[0-7]{1,3}|.)", re.DOTALL),
        _of_backslash,
    ),
    (re.compile(r"%[c-fC-F][0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){1,3}|%[0-9a-fA-F]{2}"), _of_percent),
    (re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,31});"), _of_entity),
)
