"""Checks of the values in a dataclass against its annotations: JSON that anyone may have written has any types."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import datetime
from functools import cache
from math import isfinite
from typing import Any

MAX_INTEGER = 2**63 - 1
"""Of offsets, counts and snapshot ids."""


def check_types(value: object) -> None:
    """Raise ValueError unless each field of a dataclass, and of those in it, has a value of its annotated type.

    Whole numbers have 64 bits, other numbers are finite, and times have a time zone.
    """
    of_value: Any = type(value)
    for name, kind in _hints(of_value).items():
        found = getattr(value, name)
        if not _has_type(found, kind):
            msg = f"{name} of a {of_value.__name__} is {str(found)[:80]!r}, which is no {kind}"
            raise ValueError(msg)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _has_type(value: object, kind: Any) -> bool:
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return any(_has_type(value, one) for one in typing.get_args(kind))
    if origin is tuple:
        return isinstance(value, tuple) and _has_items(value, typing.get_args(kind))
    if origin is Mapping:
        of_key, of_value = typing.get_args(kind)
        return isinstance(value, Mapping) and all(
            _has_type(key, of_key) and _has_type(one, of_value) for key, one in value.items()
        )
    return _is_plain(value, kind)


def _has_items(value: tuple[object, ...], of_items: tuple[Any, ...]) -> bool:
    if len(of_items) == 2 and of_items[1] is Ellipsis:
        return all(_has_type(one, of_items[0]) for one in value)
    return len(value) == len(of_items) and all(map(_has_type, value, of_items))


def _is_plain(value: object, kind: Any) -> bool:
    if is_dataclass(value):
        check_types(value)
        return isinstance(value, kind)
    if kind is int:
        return type(value) is int and abs(value) <= MAX_INTEGER
    if kind is float:
        return type(value) in (int, float) and isfinite(value) and abs(value) <= MAX_INTEGER  # type: ignore[arg-type]
    if kind is datetime:
        return isinstance(value, datetime) and value.tzinfo is not None
    return value is None if kind is type(None) else isinstance(value, kind)
