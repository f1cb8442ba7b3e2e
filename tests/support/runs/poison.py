"""Poison: what can be wrong with a record, how it is made of a good one, and what has to be said of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Make = Callable[[dict[str, Any]], bytes]


class Poison(NamedTuple):
    """One kind of bad record. ``stage``: the step that must refuse it; ``reason``: what its letter must say."""

    make: Make
    stage: str
    reason: str


def spoiled(**fields: Any) -> Make:
    """Return what makes a record with other fields."""
    return lambda record: json.dumps({**record, **fields}, ensure_ascii=False).encode()


def _replaced(field: str, text: bytes) -> Make:
    """Return what makes a record with a field whose value no JSON writer would write."""
    return lambda record: spoiled(**{field: "?"})(record).replace(b'"?"', text)


MALFORMED: Mapping[str, Poison] = {
    "cut off": Poison(lambda record: spoiled()(record)[:-3], "value_converter", "not JSON"),
    "no JSON": Poison(lambda record: b"no json, " + spoiled()(record), "value_converter", "not JSON"),
    "two texts": Poison(lambda record: spoiled()(record) * 2, "value_converter", "not JSON"),
    "empty": Poison(lambda _: b"", "value_converter", "empty"),
    "not UTF-8": Poison(_replaced("note", b'"\xff\xfe"'), "value_converter", "not UTF-8"),
    "an array": Poison(lambda record: b"[" + spoiled()(record) + b"]", "value_converter", "array at the top"),
    "a text": Poison(lambda record: json.dumps(str(record)).encode(), "value_converter", "string at the top"),
    "null": Poison(lambda _: b"null", "value_converter", "null at the top"),
    "a depth bomb": Poison(_replaced("deep", b"[" * 100_000 + b"]" * 100_000), "value_converter", "nested deeper"),
    "an open depth bomb": Poison(_replaced("deep", b'{"a":' * 5_000), "value_converter", "nested deeper|not JSON"),
    "not a number": Poison(_replaced("n", b"NaN"), "value_converter", "NaN is not a number"),
    "infinity": Poison(_replaced("n", b"-Infinity"), "value_converter", "Infinity is not a number"),
}
"""No table could take these."""

UNFIT: Mapping[str, Poison] = {
    "too large": Poison(spoiled(n=2**63), "coerce", "column 'n'"),
    "far too large": Poison(_replaced("n", b"9" * 5_000), "coerce", "column 'n'"),
    "a boolean": Poison(spoiled(n=True), "coerce", "column 'n'"),
    "a fraction": Poison(spoiled(n=2.5), "coerce", "column 'n'"),
    "a word": Poison(spoiled(n="twelve"), "coerce", "column 'n'"),
    "an object": Poison(spoiled(n={"a": 1}), "coerce", "column 'n'"),
    "a list": Poison(spoiled(n=[1]), "coerce", "column 'n'"),
}
"""These do not fit into a table whose column ``n`` is a long."""


class Kinds(NamedTuple):
    """Bad records of one format. ``whole``: makes the bytes of a good one."""

    malformed: Mapping[str, Poison]
    unfit: Mapping[str, Poison]
    whole: Make


JSON_KINDS = Kinds(MALFORMED, UNFIT, spoiled())
