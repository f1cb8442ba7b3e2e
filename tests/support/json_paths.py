"""Every place of a JSON document, and the document with one place changed."""

import copy
from collections.abc import Iterator
from typing import Any

Path = tuple[Any, ...]


def paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """Yield the place of every value in a document, of the containers too."""
    if at:
        yield at
    places = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in places:
        yield from paths(inner, (*at, name))


def changed(document: Any, path: Path, how: str = "other") -> Any:
    """Return a copy in which the value at ``path`` is another, ``gone``, or there ``twice``."""
    copied = copy.deepcopy(document)
    at = copied
    for name in path[:-1]:
        at = at[name]
    value, name = at[path[-1]], path[-1]
    if how == "gone":
        del at[name]
    elif how == "twice":
        at.append(value) if isinstance(at, list) else at.update({f"{name}2": value})
    else:
        at[name] = value + 1 if type(value) is int else f"{value}x" if isinstance(value, str) else "x"
    return copied
