"""Where floe's transforms differ from the Java classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from floe_job.exceptions import TRANSFORM
from tests.support.java.transforms.oracle import Answer
from tests.support.java.transforms.outcomes import Outcome
from tests.support.java.transforms.trees import java_tree

UNREAD, REFUSED, FILTERED, RECORD = "unread", "refused", "filtered", "record"
"""What becomes of a record: no converter reads it, a transform refuses it or leaves it out, or there is a record."""


def differences(java: Sequence[Answer], floe: Sequence[Outcome]) -> dict[int, list[str]]:
    """Return by place what is not the same, part by part."""
    found = {place: list(_differences(*both)) for place, both in enumerate(zip(java, floe, strict=True))}
    return {place: problems for place, problems in found.items() if problems}


def tally(java: Sequence[Answer]) -> Counter[str]:
    """Count what became of records in Java."""
    return Counter(_fate(one) for one in java)


def _differences(java: Answer, floe: Outcome) -> Iterator[str]:
    theirs = _fate(java)
    ours = _fate(floe) if floe.get("stage", TRANSFORM) == TRANSFORM else UNREAD
    if ours != theirs:
        yield f"Java: {theirs}, {_shown(java)}; floe: {ours}, {_shown(floe)}"
    elif theirs == RECORD:
        yield from _parts(java, floe)


def _fate(one: Answer | Outcome) -> str:
    if "converter_error" in one:
        return UNREAD
    return next((name for name in (REFUSED, FILTERED) if name in one), RECORD)


def _parts(java: Answer, floe: Outcome) -> Iterator[str]:
    for name in ("topic", "timestamp"):
        if java[name] != floe[name]:
            yield f"{name}: Java {_shown(java[name])}, floe {_shown(floe[name])}"
    yield from _paths("headers", java["headers"], floe["headers"])
    if "bytes" not in floe["key"]:
        yield from _paths("key", _value(java["key"]), _value(floe["key"]))
    elif not java["is_own_key"]:
        yield f"key: Java {_shown(java['key'])}, floe leaves it as it is"
    yield from _paths("value", _value(java["value"]), _value(floe["value"]))


def _value(given: dict[str, Any]) -> Any:
    """Return what is compared; of null the schema does not count, as it has no row."""
    if given.get("value") == "null":
        return None
    if "schema" in given:
        return given
    tree = given["tree"]
    return java_tree(tree) if isinstance(tree, str | list | dict) else tree


def _paths(path: str, java: Any, floe: Any) -> Iterator[str]:
    """Yield where two values differ, and what each has there."""
    if java == floe:
        return
    theirs, ours = _members(java), _members(floe)
    if not theirs or not ours:
        yield f"{path}: Java {_shown(java)}, floe {_shown(floe)}"
        return
    for name in dict.fromkeys((*theirs, *ours)):
        yield from _paths(f"{path}.{name}", theirs.get(name, _ABSENT), ours.get(name, _ABSENT))


_ABSENT = "(nothing)"


def _members(value: Any) -> dict[Any, Any]:
    """Return the parts of a value by their names, or by their places."""
    if isinstance(value, tuple) and value[0] == "map":
        return {key[1] if key else key: one for key, one in value[1]}
    if isinstance(value, dict):
        return value
    entries = value[1] if isinstance(value, tuple) and value[0] == "list" else value
    return dict(enumerate(entries)) if isinstance(entries, list) else {}


def _shown(given: Any) -> str:
    return str(given)[:_SHOWN_CHARACTERS]


_SHOWN_CHARACTERS = 200
