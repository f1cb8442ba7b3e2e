"""The error of a value that its column cannot hold."""

from __future__ import annotations

from typing import Any

from pyiceberg.types import PrimitiveType

from floe_job.exceptions import VALUE_LENGTH, Unconvertible, clip


def refuse(
    value: Any, target: object, why: str = "", wider: PrimitiveType | None = None, *, shown: str = ""
) -> Unconvertible:
    """Return an error with kind and beginning of ``value``, and ``target``; ``wider``: the promoted type it would fit.

    ``shown``: kind and beginning, if ``value`` is none that JSON has.
    """
    if shown:
        return Unconvertible(f"cannot convert {shown} to {target}{why and ', ' + why}", wider)
    kind = _KINDS.get(type(value), "number")
    text = clip(value, VALUE_LENGTH) if isinstance(value, str) else value
    text = "" if isinstance(value, dict | list) else f" {clip(repr(text), VALUE_LENGTH)}"
    return Unconvertible(f"cannot convert {kind}{text} to {target}{why and ', ' + why}", wider)


_KINDS: dict[type, str] = {str: "string", bool: "boolean", dict: "object", list: "array", type(None): "null"}
