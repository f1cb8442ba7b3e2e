"""Lookup of a key in the table, and of the nearest known one for an unknown key."""

from collections.abc import Iterator
from functools import cache

from floe.config.keys.key import Key
from floe.config.keys.spelling import MAX_CHARACTERS, Pairs, begins_near, is_near, likeness, may_be_near, pairs
from floe.config.keys.table import KEYS

OWN_PREFIXES = ("iceberg.", "floe.", "transforms.", "predicates.", "errors.")
"""Families of keys that floe knows completely: an unknown key in them is a mistake."""

_EXACT = {entry.name: entry for entry in KEYS if not entry.is_pattern}
_PATTERNS = tuple((entry.prefix, entry.suffix, entry) for entry in KEYS if entry.is_pattern)
_ALL_OF_FAMILY = {prefix[:-1]: entry for prefix, _, entry in _PATTERNS if prefix.count(".") == 1}
_Patterns = tuple[tuple[str, str, Key], ...]
_PATTERNS_BY_FAMILY: dict[str, dict[str, _Patterns]] = {}
"""By the first two parts of a key and its last one; under an empty last one, for all others."""
for _family in {".".join(prefix.split(".")[:2]) for prefix, _, _ in _PATTERNS}:
    _own = tuple(pattern for pattern in _PATTERNS if ".".join(pattern[0].split(".")[:2]) == _family)
    _PATTERNS_BY_FAMILY[_family] = {
        end: tuple(pattern for pattern in _own if pattern[1].rpartition(".")[2] in ("", end))
        for end in ("", *(suffix.rpartition(".")[2] for _, suffix, _ in _own))
    }
_UNFILLED = 0.87  # a pattern that the key has no part for is less likely meant


def find(key: str) -> Key | None:
    """Look up the row of ``key``; an exact name takes precedence over a pattern."""
    if exact := _EXACT.get(key):
        return exact
    family, _, rest = key.partition(".")
    by_end = _PATTERNS_BY_FAMILY.get(f"{family}.{rest.partition('.')[0]}")
    if by_end is not None:
        for prefix, suffix, entry in by_end.get(rest.rpartition(".")[2]) or by_end[""]:
            if key.startswith(prefix) and key.endswith(suffix) and len(key) > len(prefix) + len(suffix):
                return entry
    return _ALL_OF_FAMILY.get(family) if rest else None


def names_code(key: str, value: str | None = None) -> bool:
    """Whether a key names code that would be loaded, by its value; for None, whether some value of it does."""
    entry = find(key)
    return entry is not None and entry.names_code(key, value)


def canonical(key: str) -> str:
    """Spell ``key`` as its alias' target does, so that two spellings of one setting are equal."""
    return canonical_of(find(key), key)


def canonical_of(entry: Key | None, key: str) -> str:
    """Spell ``key``, whose row is known, as its alias' target does."""
    if entry is None or entry.alias_of is None:
        return key
    return entry.alias_of.removesuffix("*") + key.removeprefix(entry.prefix)


def is_own(key: str) -> bool:
    """Whether an unknown ``key`` is of a family that floe knows completely: it is refused, not only warned about."""
    return key.startswith(OWN_PREFIXES)


def near_miss(key: str) -> str | None:
    """Return the known key, or pattern, that ``key`` is at most two edits away from; None if there is none."""
    own = pairs(key)
    exact = (name for name, of_name in _pairs_of_names() if may_be_near(own, of_name) and is_near(key, name))
    patterns = (
        _filled(key, entry)
        for entry, of_prefix in _pairs_of_prefixes()
        if may_be_near(own, of_prefix) and key.endswith(entry.suffix) and begins_near(key, entry.prefix)
    )
    return next(exact, None) or next(patterns, None)


def nearest(key: str, cutoff: float = 0.0) -> str | None:
    """Return the known key that is spelled most like ``key``; patterns are filled in with the key's own parts."""
    rating, found = max(_candidates(key), key=lambda candidate: candidate[0])
    return found if rating >= cutoff else None


_EVERY_PATTERN = tuple(entry for _, _, entry in _PATTERNS)


def _filled(key: str, entry: Key) -> str:
    """Write a pattern with the parts of ``key`` instead of its placeholder."""
    depth = entry.prefix.count(".")
    parts = key.removesuffix(entry.suffix).split(".")
    filling = ".".join(parts[depth:])
    return f"{entry.prefix}{filling}{entry.suffix}" if filling else entry.name


@cache
def _pairs_of_names() -> tuple[tuple[str, Pairs], ...]:
    return tuple((name, pairs(name)) for name in _EXACT)


@cache
def _pairs_of_patterns() -> tuple[tuple[Key, Pairs], ...]:
    return tuple((entry, pairs(entry.prefix + entry.suffix)) for entry in _EVERY_PATTERN)


@cache
def _pairs_of_prefixes() -> tuple[tuple[Key, Pairs], ...]:
    return tuple((entry, pairs(entry.prefix)) for entry in _EVERY_PATTERN)


def _candidates(key: str) -> Iterator[tuple[float, str]]:
    """Rate the known keys. Only the fixed parts of a pattern count: the placeholder matches any text."""
    short = key[:MAX_CHARACTERS]
    own = pairs(short)
    for name, of_name in _pairs_of_names():
        yield likeness(own, of_name), name
    parts = short.split(".")
    fixed: dict[tuple[int, bool], Pairs] = {}
    for entry, of_pattern in _pairs_of_patterns():
        depth, has_end = entry.prefix.count("."), bool(entry.suffix)
        if (depth, has_end) not in fixed:
            fixed[depth, has_end] = pairs(".".join(parts[:depth]) + "." + (f".{parts[-1]}" if has_end else ""))
        rating = likeness(of_pattern, fixed[depth, has_end])
        filling = ".".join(parts[depth:-1] if has_end else parts[depth:])
        if filling:
            yield rating, f"{entry.prefix}{filling}{entry.suffix}"
        else:
            yield rating * _UNFILLED, entry.name
