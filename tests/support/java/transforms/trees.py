"""Values without a schema: Java's, and floe's, in one form.

A Java program tells a Short from a Long. floe has one kind of integer, and tables have columns of long for both, so that here
these are one; so are floats of 32 and 64 bits.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from floe_job.types.typed_values import Day, DayTime, Meant, Moment

Tree = Any
"""None, or (kind, value): of a list its trees, of a map those of its entries, sorted."""

_MILLIS_PER_DAY = 86_400_000


def _float(value: float) -> Tree:
    return "float", "NaN" if value != value else struct.pack(">d", value).hex()


_INTEGERS = ("Byte", "Short", "Integer", "Long", "BigInteger")
_JAVA: dict[str, Callable[[str], Tree]] = {
    **dict.fromkeys(_INTEGERS, lambda text: ("integer", int(text))),
    "Float": lambda text: _float(struct.unpack(">f", bytes.fromhex(text))[0]),
    "Double": lambda text: _float(struct.unpack(">d", bytes.fromhex(text))[0]),
    "Boolean": lambda text: ("boolean", text == "true"),
    "String": lambda text: ("text", bytes.fromhex(text).decode()),
    "Bytes": lambda text: ("bytes", text),
    "BigDecimal": lambda text: ("decimal", Decimal(text)),
    "Date": lambda text: ("time", int(text.removeprefix("ms "))),
}


def java_tree(given: Any) -> Tree:
    """Read what ``ConnectJson.tree`` writes."""
    if given is None:
        return None
    if isinstance(given, list):
        return "list", [java_tree(one) for one in given]
    if isinstance(given, dict):
        if "map" not in given:
            return "struct", given
        return _map((java_tree(key), java_tree(one)) for key, one in given["map"])
    kind, _, text = given.partition(" ")
    return _JAVA[kind](text)


def tree_of(value: Any) -> Tree:
    """Return a value of floe's in the same form. Raises TypeError for what no record has."""
    if value is None:
        return None
    made = next((make for kind, make in _FLOE.items() if isinstance(value, kind)), None)
    if made is None:
        problem = f"{value!r} is nothing that a record has"
        raise TypeError(problem)
    return made(value)


def _map(entries: Iterable[tuple[Tree, Tree]]) -> Tree:
    return "map", sorted(entries, key=repr)


_FLOE: dict[type, Callable[[Any], Tree]] = {
    bool: lambda value: ("boolean", value),
    int: lambda value: ("integer", value),
    float: _float,
    str: lambda value: ("text", value),
    bytes: lambda value: ("bytes", value.hex()),
    Decimal: lambda value: ("decimal", value),
    Day: lambda value: ("time", value.days * _MILLIS_PER_DAY),
    DayTime: lambda value: ("time", value.micros // 1000),
    Moment: lambda value: ("time", value.micros // 1000),
    Meant: lambda value: tree_of(value.raw),
    list: lambda value: ("list", [tree_of(one) for one in value]),
    dict: lambda value: _map((tree_of(key), tree_of(one)) for key, one in value.items()),
}
"""The first that fits counts: a boolean is an integer in Python."""
