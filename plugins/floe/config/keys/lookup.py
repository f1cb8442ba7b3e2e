"""Lookup of a key in the table, and of the known one that an unknown key means."""

from __future__ import annotations

from functools import cache
from typing import Final

from floe.config.keys.floe_keys import DAG, FLOE
from floe.config.keys.key import Key, Status
from floe.config.keys.other_names import of_connector, of_table
from floe.config.keys.sink_keys import CONNECT, SINK
from floe.config.keys.spelling import Pairs, begins_near, letters, may_be_near, pairs, spelled_as

# The table of keys: the only list of all keys that a connector may have.
#
# A key of the Iceberg sink keeps its name, type and default. The tables in ``docs/reference/configuration.md`` are
# printed from this one (``python -m floe.config keys``), and a test compares them. Of several patterns the first
# match counts.
#
# A new key is of class ``file``: a run may set it only if its row says so.


KEYS: Final[tuple[Key, ...]] = CONNECT + SINK + FLOE + DAG


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
_SETTINGS = {
    begin: tuple(entry.setting for _, suffix, entry in _PATTERNS if suffix and entry.prefix == begin)
    for begin in dict.fromkeys(prefix for prefix, suffix, _ in _PATTERNS if suffix)
}
"""The settings of one table, by the beginning of their keys."""


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


def advice(key: str) -> str:
    """Return what to do with an unknown ``key``: the key that means the same, by what is known of it or by its spelling.

    Empty where nothing says what is meant: a key that is taken and means something else is worse than none.
    """
    if found := of_connector(key) or of_setting(key):
        return found
    meant = near_miss(key)
    if meant is None:
        return ""
    entry = find(meant)
    why = f", and floe does not support it: {entry.doc}" if entry is not None and entry.status is Status.REFUSED else ""
    return f"the nearest known key is {meant}{why}"


def of_setting(key: str) -> str:
    """Return the advice on a key about one table; empty for another."""
    for begin, settings in _SETTINGS.items():
        table, _, setting = key.removeprefix(begin).rpartition(".")
        if key.startswith(begin) and table:
            if dotted := _of_dotted(begin, table, setting, settings):
                return dotted
            if meant := spelled_as(setting, settings):
                return f"the nearest known key is {begin}{table}.{meant}"
            return of_table(table, setting) or f"a table has {', '.join(settings)} with {begin}"
    return ""


def _of_dotted(begin: str, table: str, setting: str, settings: tuple[str, ...]) -> str:
    """Return the advice on a setting with a dot in it, such as ``sort.by``: the table's name is what is before both parts."""
    table, _, first = table.rpartition(".")
    if "." not in table:
        return ""
    same = letters(f"{first}.{setting}")
    meant = next((one for one in settings if letters(one) == same), None)
    return (
        of_table(table, f"{first}.{setting}") if meant is None else f"the nearest known key is {begin}{table}.{meant}"
    )


def near_miss(key: str) -> str | None:
    """Return the known key, or pattern, that ``key`` is a spelling of; None if there is none."""
    if meant := spelled_as(key, _NAMES):
        return meant
    own = pairs(key)
    patterns = (
        _filled(key, entry)
        for entry, of_prefix in _pairs_of_prefixes()
        if may_be_near(own, of_prefix) and key.endswith(entry.suffix) and begins_near(key, entry.prefix)
    )
    return next(patterns, None)


_NAMES = tuple(_EXACT)
_EVERY_PATTERN = tuple(entry for _, _, entry in _PATTERNS)


def _filled(key: str, entry: Key) -> str:
    """Write a pattern with the parts of ``key`` instead of its placeholder."""
    depth = entry.prefix.count(".")
    parts = key.removesuffix(entry.suffix).split(".")
    filling = ".".join(parts[depth:])
    return f"{entry.prefix}{filling}{entry.suffix}" if filling else entry.name


@cache
def _pairs_of_prefixes() -> tuple[tuple[Key, Pairs], ...]:
    return tuple((entry, pairs(entry.prefix)) for entry in _EVERY_PATTERN)
