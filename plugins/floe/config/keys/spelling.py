"""The similarity of two spellings: edit distance up to a limit, and common pairs of letters for suggestions.

Keys are untrusted input, so no cost here is proportional to the product of two lengths.
"""

import re
from functools import lru_cache

MAX_DISTANCE = 2
MAX_CHARACTERS = 100
"""Characters of a text that are compared: more than any known key has."""

_LIKENESS = 0.65
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_PAIRS_PER_EDIT = 3  # that an edit can remove from a text: swapped neighbours are in three

Pairs = frozenset[str]
"""The pairs of neighbouring characters of a text."""


def pairs(text: str) -> Pairs:
    """Return the pairs of neighbouring characters, with a blank at both ends."""
    padded = f" {text[:MAX_CHARACTERS]} "
    return frozenset([padded[i : i + 2] for i in range(len(padded) - 1)])


def likeness(one: Pairs, other: Pairs) -> float:
    """Return the fraction of pairs that two texts have in common (Dice's coefficient), 0 to 1."""
    return 2 * len(one & other) / ((len(one) + len(other)) or 1)


def nearest_of(text: str, names: tuple[str, ...]) -> str | None:
    """Return the name with the largest fraction of pairs in common with ``text``; None if there are no names."""
    own = pairs(text)
    size = len(own)
    nearest, most = None, -1.0
    for name, known, length in _pairs_of_names(names):
        common = 2 * len(own & known) / (size + length)
        if common > most:
            nearest, most = name, common
    return nearest


def is_like(text: str, known: str) -> bool:
    """Whether a text may be meant for a known one, by common pairs or by edits: another name only misleads."""
    return likeness(pairs(text), _pairs_of_name(known)) >= _LIKENESS or is_near(text[:MAX_CHARACTERS], known)


def names_another(text: str, known: str) -> bool:
    """Whether both have a word that the other lacks, however it is spelled: then they are two settings, not one misspelt."""
    own, others = ({word.lower() for word in _WORDS.findall(one[:MAX_CHARACTERS])} for one in (text, known))

    def lacks(words: set[str], all_of: set[str]) -> bool:
        return any(not any(is_near(word, one) for one in all_of) for word in words)

    return lacks(own - others, others) and lacks(others - own, own)


@lru_cache(maxsize=50)
def _pairs_of_names(names: tuple[str, ...]) -> tuple[tuple[str, Pairs, int], ...]:
    """Return the pairs of each name, and how many there are."""
    return tuple((name, found, len(found)) for name in names for found in (_pairs_of_name(name),))


@lru_cache(maxsize=2000)
def _pairs_of_name(name: str) -> Pairs:
    return pairs(name)


def may_be_near(one: Pairs, known: Pairs) -> bool:
    """Whether ``one`` has so many pairs of ``known`` that two edits may suffice: cheaper than counting the edits."""
    return len(known & one) >= len(known) - _PAIRS_PER_EDIT * MAX_DISTANCE - 1


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
