"""Spellings of one name: other separators, typing errors up to a limit. A name with another meaning is no spelling.

Keys are untrusted input, so no cost here is proportional to the product of two lengths.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import lru_cache
from typing import NamedTuple

MAX_DISTANCE = 2
MAX_CHARACTERS = 100
"""Characters of a text that are compared: more than any known key has."""

_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_MOST_PAIRS = 3 * MAX_DISTANCE + 1  # that two edits can remove from a text: swapped neighbours are in three
_SHORTEST_MISSPELT = 4  # of shorter words each letter counts: min is not max, id not uid
_MAX_WRONG_WORDS = 2
_FILLERS = frozenset({"enabled", "enable", "default", "ms"})
"""Words that change no meaning: ``auto-create`` and ``auto-create-enabled`` are one, and ``timeout`` and ``timeout-ms``."""
_ONE_WORD = {"url": "uri", "urls": "uri", "uris": "uri"}
_TWO_EDITS = 8
"""Letters of a word that may have two typing errors; shorter ones are soon another word: secret and secure."""

Pairs = frozenset[str]
"""The pairs of neighbouring characters of a text."""


def pairs(text: str) -> Pairs:
    """Return the pairs of neighbouring characters, with a blank at both ends."""
    padded = f" {text[:MAX_CHARACTERS]} "
    return frozenset([padded[i : i + 2] for i in range(len(padded) - 1)])


def spelled_as(text: str, names: tuple[str, ...]) -> str | None:
    """Return the name that ``text`` is a spelling of: with other separators, or misspelt; None if it is of none, or of two.

    A word that some name has is not a misspelling of another word, so no name with another meaning is returned.
    """
    text = text[:MAX_CHARACTERS]
    own, known = _words(text), _known(names)
    if name := known.by_letters.get("".join(own)):
        return name
    words = frozenset(own)
    unheard, of_text = words - known.vocabulary, pairs(text)
    right = len(own) - min(_MAX_WRONG_WORDS, len(unheard))
    near = [
        name
        for name, others, count, of_name, least in known.all_names
        if (count == len(own) and len(others & words) >= right and _are_near(own, _words_of(name), unheard))
        or (len(of_name & of_text) >= least and unheard >= words - others and is_near(text, name))
    ]
    if len(near) > 1:
        near = [name for name in near if is_near(text, name)]
    return near[0] if len(near) == 1 else None


class _Known(NamedTuple):
    """Names to compare with: by their letters, and each with its words, how many there are, its pairs, and how many of them
    a text has at least that is two edits away.
    """

    vocabulary: frozenset[str]
    by_letters: Mapping[str, str]
    all_names: list[tuple[str, frozenset[str], int, Pairs, int]]


@lru_cache(maxsize=50)
def _known(names: tuple[str, ...]) -> _Known:
    words = {name: _words_of(name) for name in names}
    return _Known(
        frozenset(word for own in words.values() for word in own),
        {"".join(own): name for name, own in reversed(words.items())},
        [
            (name, frozenset(own), len(own), of_name, len(of_name) - _MOST_PAIRS)
            for name, own in words.items()
            for of_name in (pairs(name),)
        ],
    )


@lru_cache(maxsize=2000)
def _words_of(name: str) -> tuple[str, ...]:
    return _words(name)


def letters(text: str) -> str:
    """Return what spellings of one name have in common: its words without what joins them, in the singular."""
    return "".join(_words(text[:MAX_CHARACTERS]))


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a name, however they are joined: in lower case and the singular, without fillers."""
    all_words = tuple(word.lower() for word in _WORDS.findall(text))
    words = tuple(_singular(word) for word in all_words if word not in _FILLERS)
    return words if len(words) > 1 else tuple(map(_singular, all_words))


def _singular(word: str) -> str:
    word = word[:-1] if len(word) > _SHORTEST_MISSPELT and word.endswith("s") and not word.endswith("ss") else word
    return _ONE_WORD.get(word, word)


def _are_near(own: tuple[str, ...], words: tuple[str, ...], unheard: Set[str]) -> bool:
    """Whether each word is the other's, or a misspelling of it; ``unheard`` are words that no name has."""
    wrong = [(one, other) for one, other in zip(own, words, strict=True) if one != other]
    return len(wrong) <= _MAX_WRONG_WORDS and all(
        one in unheard and _is_typing_error(one, other) for one, other in wrong
    )


def _is_typing_error(word: str, known: str) -> bool:
    limit = MAX_DISTANCE if len(known) >= _TWO_EDITS else 1
    is_comparable = len(known) >= _SHORTEST_MISSPELT and abs(len(word) - len(known)) <= limit
    return is_comparable and _distances(word, known, limit)[-1] <= limit


def may_be_near(one: Pairs, known: Pairs) -> bool:
    """Whether ``one`` has so many pairs of ``known`` that two edits may suffice: cheaper than counting the edits."""
    return len(known & one) >= len(known) - _MOST_PAIRS


def is_near(text: str, known: str) -> bool:
    """Whether ``text`` is at most two edits away from ``known``, one if ``known`` has less than six characters.

    An edit inserts, removes or replaces a character, or swaps two neighbours (Damerau; optimal string alignment).
    """
    limit = _limit(known)
    return abs(len(text) - len(known)) <= limit and _distances(text, known, limit)[-1] <= limit


def begins_near(text: str, known: str) -> bool:
    """Whether some beginning of ``text`` is at most two edits away from ``known``."""
    limit = _limit(known)
    return min(_distances(text[: len(known) + limit], known, limit)) <= limit


def _limit(known: str) -> int:
    return MAX_DISTANCE if len(known) > 5 else 1


def _distances(text: str, known: str, limit: int) -> list[int]:
    """Count the edits from each beginning of ``text`` to ``known``, the empty one first; all beyond ``limit`` count alike.

    Only cells within ``limit`` of the diagonal are computed.
    """
    width, beyond = len(known), limit + 1
    before, row = [beyond] * (width + 1), [j if j <= limit else beyond for j in range(width + 1)]
    found = [row[width]]
    for i, character in enumerate(text, 1):
        previous, row = row, [beyond] * (width + 1)
        row[0] = min(i, beyond)
        for j in range(max(1, i - limit), min(width, i + limit) + 1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (character != known[j - 1]))
            if i > 1 and j > 1 and character == known[j - 2] and text[i - 2] == known[j - 1]:
                cost = min(cost, before[j - 2] + 1)
            row[j] = min(cost, beyond)
        before = previous
        found.append(row[width])
        if i <= width and min(row) > limit:
            return [*found, beyond]
    return found


# Names and prefixes, for lookups of thousands of keys.


class NameSet:
    """A set of names, in which ``name.*`` means every name that begins with ``name.``."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)
        self._exact = frozenset(name for name in self._names if not name.endswith("*"))
        self._prefixes = tuple(name[:-1] for name in self._names if name.endswith("*"))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._exact or name.startswith(self._prefixes))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)
