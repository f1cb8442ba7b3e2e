"""Secret texts and their places in a message, whole or cut.

Libraries shorten their messages at one end or both, so fragments of a secret are searched for as well: every
fragment of ``MIN_FRAGMENT`` characters, and a shorter one if the message says that it was cut there. The cost is
proportional to the message's length, for any number of secrets.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

MIN_FRAGMENT = 16
"""Characters of a part of a secret that ordinary text does not contain."""
MIN_CUT = 8
"""The same, for a part that ends where the message was cut."""
GRAM = 6
"""Characters of the parts of a secret that are looked up: no secret that is searched for is shorter."""

_MAX_GRAMS = 256
_MAX_REPEATED = 2
_MAX_SHARING = 32
"""Needles that have a part in common; with more, any word with that part is hidden."""
_MAX_USER_LENGTH = 40
_CHUNK = 256
_MAX_WORD_LENGTH = 4096
_BASE64 = re.compile(rf"[A-Za-z0-9+/_-]{{0,{_MAX_WORD_LENGTH}}}")
_UNQUOTED = re.compile(rf"[^\s'\"`]{{0,{_MAX_WORD_LENGTH}}}")
_CUT_AFTER = ("'", '"', "`", "\n", "\r", "…", "...", "\\")
_CUT_BEFORE = ("'", '"', "`", "\n", "\r", "…", "...")


class Needle(NamedTuple):
    """A text to search for. ``is_atom``: parts of it count, too; of ``user:password`` none without the password."""

    text: str
    is_atom: bool
    is_encoded: bool = False
    """Whether it is part of a longer word, which is hidden with it: base64."""


class Fragments:
    """Texts to search for. They may be added while another thread searches for them."""

    def __init__(self) -> None:
        self._grams: dict[str, tuple[tuple[Needle, int], ...]] = {}
        self._needles: set[Needle] = set()

    def __bool__(self) -> bool:
        return bool(self._needles)

    def add(self, needle: Needle) -> None:
        """Search for a text of at least ``GRAM`` characters from now on."""
        if needle in self._needles:
            return
        self._needles.add(needle)
        for gram, position in _grams_of(needle) if needle.is_atom else (self._rarest_gram_of(needle),):
            sharing = self._grams.get(gram, ())
            self._grams[gram] = (*sharing, (needle, position)) if len(sharing) < _MAX_SHARING else sharing

    def _rarest_gram_of(self, needle: Needle) -> tuple[str, int]:
        """Return the first part of a text that no other has; its end if there is none."""
        own = list(_grams_of(needle))
        return next((one for one in own if one[0] not in self._grams), own[-1])

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the places of the texts, as start and end; spans may overlap."""
        grams = self._grams
        if not grams:
            return
        done: dict[Needle, int] = {}
        for at in [at for at in range(len(text) - GRAM + 1) if text[at : at + GRAM] in grams]:
            sharing = grams[text[at : at + GRAM]]
            if len(sharing) == _MAX_SHARING:  # comparing each would be too slow
                yield _word(text, at, at + GRAM, _UNQUOTED)
                continue
            for needle, position in sharing:
                if at < done.get(needle, 0):
                    continue
                span = _span(text, at, needle, position)
                if span is not None:
                    done[needle] = span[1]
                    yield span


def _grams_of(needle: Needle) -> Iterator[tuple[str, int]]:
    """Yield parts of a text, with their positions, one of which is in every fragment to search for."""
    last = len(needle.text) - GRAM
    seen: Counter[str] = Counter()
    for position in (*range(0, last, max(GRAM, last // _MAX_GRAMS)), last):
        gram = needle.text[position : position + GRAM]
        seen[gram] += 1
        if seen[gram] <= _MAX_REPEATED or position == last:
            yield gram, position


def _span(text: str, at: int, needle: Needle, position: int) -> tuple[int, int] | None:
    """Return the span of a needle whose ``position`` is at ``at``, if enough of it matches."""
    wanted = needle.text
    if not needle.is_atom:
        start = at - position
        return (start, start + len(wanted)) if start >= 0 and text.startswith(wanted, start) else None
    before, after = _equal_before(text, at, wanted, position), _equal_after(text, at, wanted, position)
    start, end = at - before, at + after
    first, last = position - before, position + after
    user = wanted.find(":", 0, _MAX_USER_LENGTH) + 1
    shown = last - max(first, user)
    is_whole = shown >= len(wanted) - user
    is_cut = shown >= MIN_CUT and (
        (first == 0 or _is_cut_before(text, start)) and (last == len(wanted) or _is_cut_after(text, end))
    )
    if not (is_whole or is_cut or shown >= MIN_FRAGMENT):
        return None
    if needle.is_encoded:
        start, end = _word(text, start, end, _BASE64)
        end += 2 if text.startswith("==", end) else text.startswith("=", end)
    return start, end


def _equal_after(text: str, at: int, wanted: str, position: int) -> int:
    """Count the characters that the two have in common from there on."""
    begin, equal = position, _CHUNK
    while equal == _CHUNK:
        equal = _equal_length(text[at : at + _CHUNK], wanted[position : position + _CHUNK])
        at, position = at + equal, position + equal
    return position - begin


def _equal_before(text: str, at: int, wanted: str, position: int) -> int:
    """Count the characters that the two have in common before."""
    begin, equal = position, _CHUNK
    while equal == _CHUNK:
        equal = _equal_length(text[max(0, at - _CHUNK) : at][::-1], wanted[max(0, position - _CHUNK) : position][::-1])
        at, position = at - equal, position - equal
    return begin - position


def _equal_length(one: str, other: str) -> int:
    """Count the characters that two texts have in common from their beginning on."""
    if one == other:
        return len(one)
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _is_cut_before(text: str, start: int) -> bool:
    return start == 0 or text.endswith(_CUT_BEFORE, 0, start)


def _is_cut_after(text: str, end: int) -> bool:
    return end == len(text) or text.startswith(_CUT_AFTER, end)


def _word(text: str, start: int, end: int, word: re.Pattern[str]) -> tuple[int, int]:
    """Extend a span to the word that it is part of."""
    before, after = word.match(text[max(0, start - _MAX_WORD_LENGTH) : start][::-1]), word.match(text, end)
    return start - (before.end() if before else 0), after.end() if after else end
