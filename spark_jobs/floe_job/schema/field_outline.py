"""What fields would propose for columns, in plain values: enough to count the columns, and to see that nothing else changes.

Values are counted, or outlined where several are for the same columns: an outline is the kind of a scalar, or that of what is
inside: of a struct by key, of a list that of its elements. Both are of values which convert to what they propose; of any
other value raises ``Unsure``, and ``floe_job.schema.proposed_columns`` has to examine it.
"""

from __future__ import annotations

from math import inf
from typing import Any

from floe_job.schema.limits import MAX_COLUMN_DEPTH
from floe_job.schema.proposal import Path
from floe_job.types.numbers import LONG_RANGE, Literal, Single

Outline = Any
"""``str`` for a scalar's kind, ``dict`` by key, or a ``list`` of one."""

_FIRST_LONG, _LAST_LONG = LONG_RANGE
_NUMBERS = {"long", "double"}


class Unsure(Exception):
    """Fields cannot be outlined: they differ among themselves, or contain what may not convert."""


class Deep(Exception):
    """A field, outside of lists, has more levels than a column may have; all before it are valid. ``path``: its keys."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path


def is_plain(value: Any) -> bool:
    """Return True for most scalars that a new column takes."""
    kind = type(value)
    if kind is str:
        return bool(value.isascii())
    if kind is int:
        return bool(_FIRST_LONG <= value <= _LAST_LONG)
    return kind is bool or (kind is float and -inf < value < inf)


def scalar_kind(value: Any) -> str | None:
    """Return the kind of a scalar that its column takes; None for a null. Raises Unsure, for objects and arrays too."""
    kind = type(value)
    if kind is str:
        if value.isascii() or _is_text(value):
            return "string"
    elif kind is int:
        if _FIRST_LONG <= value <= _LAST_LONG:
            return "long"
    elif kind is bool:
        return "boolean"
    elif kind in (float, Literal, Single):
        if -inf < value < inf:
            return "double"
    elif value is None:
        return None
    raise Unsure


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def count(value: Any, depth: int, *, fold: bool) -> int:
    """Count the columns that one value proposes, ``depth`` levels down. ``fold``: keys without regard to case.

    Raises Unsure, Deep.
    """
    inside, levels = value, 0
    while type(inside) is dict and len(inside) == 1 and depth + levels <= MAX_COLUMN_DEPTH:
        (inside,) = inside.values()
        levels += 1
    try:
        found = _count_inside(inside, depth + levels, fold=fold)
    except Deep as deep:
        above = []
        for _ in range(levels):
            ((key, value),) = value.items()
            above.append(key)
        deep.path = (*above, *deep.path)
        raise
    return found and found + levels


def _count_inside(value: Any, depth: int, *, fold: bool) -> int:
    if value is None:
        return 0
    kind = type(value)
    if kind is dict:
        if depth > MAX_COLUMN_DEPTH:
            path = _first_field(value, fold=fold)
            if path is None:
                return 0
            raise Deep(path)
        return _count_fields(value, depth, fold=fold)
    if kind is list:
        element = _outline_of_list(value, depth + 1, fold=fold)
        return 0 if element is None else columns(element)
    if depth > MAX_COLUMN_DEPTH:
        raise Deep(())
    return 1 if scalar_kind(value) else 0


def _count_fields(entries: dict[str, Any], depth: int, *, fold: bool) -> int:
    if fold:
        lowered(entries)
    found = 0
    for key, entry in entries.items():
        if depth < MAX_COLUMN_DEPTH and is_plain(entry):
            found += 1
            continue
        try:
            found += count(entry, depth + 1, fold=fold)
        except Deep as deep:
            deep.path = (key, *deep.path)
            raise
    return found and found + 1


def _first_field(value: Any, *, fold: bool) -> Path | None:
    """Return the keys to the first field that is not null. Raises Unsure at a list that is not empty."""
    keys = []
    while type(value) is dict and len(value) == 1:
        ((key, value),) = value.items()
        keys.append(key)
    if type(value) is dict:
        if fold:
            lowered(value)
        for key, entry in value.items():
            inside = _first_field(entry, fold=fold)
            if inside is not None:
                return (*keys, key, *inside)
        return None
    if type(value) is list and value:
        raise Unsure
    return None if value is None or value == [] else tuple(keys)


def outline(value: Any, depth: int, *, fold: bool) -> Outline | None:
    """Outline a value that is not alone for its columns; None where it proposes nothing. Raises Unsure."""
    kind = type(value)
    if kind is dict:
        return _outline_of_object(lowered(value) if fold else value, depth + 1, fold=fold)
    if kind is list:
        return _outline_of_list(value, depth + 1, fold=fold)
    if depth > MAX_COLUMN_DEPTH:
        raise Unsure
    return scalar_kind(value)


def lowered(entries: dict[str, Any]) -> dict[str, Any]:
    """Return an object's entries by key in lower case. Raises Unsure where two keys are the same."""
    found = {key.lower(): entry for key, entry in entries.items()}
    if len(found) < len(entries):
        raise Unsure
    return found


def _outline_of_object(entries: dict[str, Any], depth: int, *, fold: bool) -> Outline | None:
    found = {}
    for key, entry in entries.items():
        if entry is not None:
            inside = outline(entry, depth, fold=fold)
            if inside is None:  # it proposes nothing, but a column that another value proposes may not take it
                raise Unsure
            found[key] = inside
    return found or None


def _outline_of_list(values: list[Any], depth: int, *, fold: bool) -> Outline | None:
    element: Outline | None = None
    for value in values:
        if value is not None:
            inside = outline(value, depth, fold=fold)
            if inside is None:
                if len(values) > 1:
                    raise Unsure
            else:
                element = inside if element is None else joined(element, inside)
    return None if element is None else [element]


def joined(first: Outline, later: Outline) -> Outline:
    """Join two outlines for one column, the first of which may be changed. Raises Unsure where they are in conflict."""
    if isinstance(first, dict) and isinstance(later, dict):
        for key, inside in later.items():
            first[key] = joined(first[key], inside) if key in first else inside
        return first
    if isinstance(first, list) and isinstance(later, list):
        return [joined(first[0], later[0])]
    if first == later:
        return first
    if isinstance(first, str) and isinstance(later, str) and {first, later} == _NUMBERS:
        return "double"
    raise Unsure


def columns(one: Outline) -> int:
    """Count the columns of an outline, nested ones included."""
    if isinstance(one, dict):
        return 1 + sum(map(columns, one.values()))
    return 1 if isinstance(one, str) else 1 + columns(one[0])
