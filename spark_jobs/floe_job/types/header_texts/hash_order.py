"""The order of Java's ``HashMap``: by the hashes of the keys, in a table that grows with the map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_FIRST_SIZE: Final = 16
_MAX_BIN: Final = 8
"""Keys in one place of the table; with more, Java makes a tree of them."""


def in_hash_order(entries: Mapping[Any, Any], *, is_long: bool) -> list[tuple[Any, Any]]:
    """Return the entries in the order in which a HashMap has them that they were put into one by one.

    ``is_long``: whole numbers are of 64 bits. Keys that are no texts, whole numbers or booleans stay in their order.
    Raises ValueError if too many keys share a place of the table.
    """
    pairs = list(entries.items())
    if len(pairs) < 2 or any(not isinstance(key, str | int) for key in entries):
        return pairs
    hashes = [_spread(_hash(key, is_long=is_long)) for key in entries]
    size = _FIRST_SIZE
    while True:
        _check_bins(hashes[: size * 3 // 4 + 1], size)
        if len(pairs) <= size * 3 // 4:
            break
        size *= 2
    order = sorted(range(len(pairs)), key=lambda place: hashes[place] & (size - 1))
    return [pairs[place] for place in order]


def _check_bins(hashes: list[int], size: int) -> None:
    if len(hashes) <= _MAX_BIN:
        return
    counts: dict[int, int] = {}
    for each in hashes:
        place = each & (size - 1)
        counts[place] = counts.get(place, 0) + 1
    if max(counts.values()) > _MAX_BIN:
        problem = f"more than {_MAX_BIN} keys of a map have one place in Java's table: its order is not known"
        raise ValueError(problem)


def _spread(value: int) -> int:
    return value ^ value >> 16


def _hash(key: str | int, *, is_long: bool) -> int:
    """Return Java's ``hashCode``, as a number without sign."""
    if isinstance(key, bool):
        return 1231 if key else 1237
    if isinstance(key, int):
        return ((key ^ key >> 32) if is_long else key) & 0xFFFFFFFF
    value = 0
    encoded = key.encode("utf-16-be", "surrogatepass")
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value
