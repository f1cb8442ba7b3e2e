"""Flat string properties: immutable, and safe to print."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice

from floe.config.secrets.detection import shown

NUL = "\0"
_SHOWN_CHARACTERS = 200


class Properties(Mapping[str, str]):
    """A mapping of strings whose ``repr`` hides secrets. It can be hashed, copied and pickled."""

    def __init__(self, items: Mapping[str, str] | None = None) -> None:
        self._items = dict(items or {})

    def __getitem__(self, key: str) -> str:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __eq__(self, other: object) -> bool:
        return dict(self) == dict(other) if isinstance(other, Mapping) else NotImplemented

    def __repr__(self) -> str:
        return repr({key: shown(key, value) for key, value in self._items.items()})

    def under(self, prefix: str) -> dict[str, str]:
        """Return the properties below ``prefix``, without it, in their order."""
        length = len(prefix)
        first = bisect_left(self._sorted, prefix)
        found = []
        for key in islice(self._sorted, first, None):
            if not key.startswith(prefix):
                break
            found.append(key)
        found.sort(key=self._places.__getitem__)
        return {key[length:]: self._items[key] for key in found if len(key) > length}

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._items)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {key: place for place, key in enumerate(self._items)}

    def __reduce__(self) -> tuple[type["Properties"], tuple[dict[str, str]]]:
        return Properties, (self._items,)


def flatten(document: Mapping[str, object]) -> tuple[dict[str, str], list[str]]:
    """Turn JSON scalars into the strings that Kafka Connect would see, with a problem for every other value."""
    flat: dict[str, str] = {}
    problems: list[str] = []
    for key, value in document.items():
        if (
            type(value) is str
            and type(key) is str
            and key.isascii()
            and value.isascii()
            and not (key.isspace() or not key)
        ):
            flat[key] = value
            continue
        problem = _key_problem(key) or _value_problem(key, value)
        if problem:
            problems.append(problem)
        elif isinstance(value, bool):
            flat[key] = "true" if value else "false"
        else:
            flat[key] = str(value)
    problems += [
        f"{key!r} or its value has a NUL character: no name and no path has one; write it without"
        for key, value in flat.items()
        if NUL in key or NUL in value
    ]
    return flat, problems


def _key_problem(key: object) -> str | None:
    if not isinstance(key, str) or not key.strip():
        return f"a key must be a text that is not empty, not {str(key)[:_SHOWN_CHARACTERS]!r}; name or remove it"
    return None if _is_unicode(key) else f"the key {key[:_SHOWN_CHARACTERS]!r} is no valid Unicode; write it again"


def _value_problem(full_key: str, value: object) -> str | None:
    key = full_key[:_SHOWN_CHARACTERS]
    if value is None:
        return f"{key} is null: give it a value or remove it"
    if isinstance(value, Mapping):
        return f"{key} is an object: a connector is one flat map, write the inner keys with dots"
    if isinstance(value, list | tuple):
        return f"{key} is an array: write a list as one string with commas"
    if not isinstance(value, str | int | float):
        return f"{key} is a {type(value).__name__}: give a string, a number or a boolean"
    return None if _is_unicode(str(value)) else f"the value of {key} is no valid Unicode; write it again"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
