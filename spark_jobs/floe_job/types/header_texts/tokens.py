"""The tokens of a literal, as Connect's ``Values.Parser`` splits it: at quotes, commas, colons, brackets and braces."""

from __future__ import annotations

from typing import Final

_SPECIAL: Final = frozenset('",:[]{}')
_BLANKS: Final = "".join(map(chr, range(33)))


def trimmed(text: str) -> str:
    """Return a text without what Java's ``trim`` takes away."""
    return text.strip(_BLANKS)


class Tokens:
    """Reads tokens one by one; one may be looked at before it is taken."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self._next: str | None = None

    @property
    def has_more(self) -> bool:
        """Return whether there is a token."""
        return self._next is not None or self.place < len(self.text)

    def mark(self) -> int:
        """Return the place to go back to."""
        return self.place - len(self._next or "")

    def rewind(self, mark: int) -> None:
        """Go back to a mark."""
        self.place, self._next = mark, None

    def take(self) -> str:
        """Take the next token."""
        token, self._next = self._next, None
        return self._read() if token is None else token

    def take_text(self, count: int) -> str | None:
        """Take tokens as one text; None, and none is taken, if there are not so many."""
        start = self.mark()
        for _ in range(count):
            if not self.has_more:
                self.rewind(start)
                return None
            self.take()
        return self.text[start : self.place]

    def take_if(self, token: str) -> bool:
        """Take the next token if it is this one. Blank tokens before it are skipped, and stay so."""
        if self._next is None:
            if not self.has_more:
                return False
            self._next = self._read()
        while not trimmed(self._next) and self.place < len(self.text):
            self._next = self._read()
        if trimmed(self._next) != token:
            return False
        self._next = None
        return True

    def _read(self) -> str:
        start, text = self.place, self.text
        place, is_escaped = start, False
        while place < len(text):
            character = text[place]
            if character == "\\":
                is_escaped = not is_escaped
            elif character in _SPECIAL and not is_escaped:
                place = max(place, start + 1)
                break
            else:
                is_escaped = False
            place += 1
        self.place = place
        return text[start:place]
