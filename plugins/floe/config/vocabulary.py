"""Looking a key up in the table, and the nearest known one for a key that is not in it."""

import difflib
from collections.abc import Iterator

from floe.config.key import Key
from floe.config.keys import KEYS

OWN_PREFIXES = ("iceberg.", "floe.")

_EXACT = {entry.name: entry for entry in KEYS if not entry.is_pattern}
_PATTERNS = tuple(entry for entry in KEYS if entry.is_pattern)
_COMPARED_CHARACTERS = 200  # difflib is quadratic, and a key may be any text
_UNFILLED = 0.87  # a pattern that the key has no part for is less likely meant


def find(key: str) -> Key | None:
    """Look up the row of ``key``; an exact name goes before a pattern."""
    if exact := _EXACT.get(key):
        return exact
    return next((entry for entry in _PATTERNS if entry.matches(key)), None)


def canonical(key: str) -> str:
    """Spell ``key`` as its alias' target does, so that two spellings of one setting can be told to be one."""
    entry = find(key)
    if entry is None or entry.alias_of is None:
        return key
    return entry.alias_of.removesuffix("*") + key.removeprefix(entry.prefix)


def is_own(key: str) -> bool:
    """Whether an unknown ``key`` claims to be the sink's or floe's, and so is refused rather than warned of."""
    return key.startswith(OWN_PREFIXES)


def nearest(key: str, cutoff: float = 0.0) -> str | None:
    """Name the known key that is spelled most like ``key``; patterns are filled in with the key's own parts."""
    short = key[:_COMPARED_CHARACTERS]
    likeness, found = max(_candidates(short), key=lambda candidate: candidate[0])
    return found if likeness >= cutoff else None


def _candidates(key: str) -> Iterator[tuple[float, str]]:
    """Rate the known keys. Of a pattern only the fixed parts count: any text is like a part that is free."""
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(key)
    for name in _EXACT:
        matcher.set_seq1(name)
        yield matcher.ratio(), name
    parts = key.split(".")
    for entry in _PATTERNS:
        depth = entry.prefix.count(".")
        free, last = (parts[depth:-1], f".{parts[-1]}") if entry.suffix else (parts[depth:], "")
        fixed = ".".join(parts[:depth]) + "." + last
        likeness = difflib.SequenceMatcher(None, entry.prefix + entry.suffix, fixed, autojunk=False).ratio()
        filling = ".".join(free)
        if filling:
            yield likeness, f"{entry.prefix}{filling}{entry.suffix}"
        else:
            yield likeness * _UNFILLED, entry.name
