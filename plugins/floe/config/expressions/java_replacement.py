r"""Replacements as Java's ``Matcher.replaceFirst`` reads them: ``$1``, ``${name}``, and ``\`` before a character."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

MAX_CHARACTERS: Final = 1000
_NAME: Final = re.compile(r"\{([A-Za-z][A-Za-z0-9]*)\}")
_DIGITS: Final = "0123456789"

Part = str | int
"""A text, or the number of a group."""


def split_replacement(text: str, names: Mapping[str, int], groups: int) -> tuple[Part, ...]:
    """Return the parts of a replacement. ``names``: of groups, with their numbers; ``groups``: how many there are.

    Raises ValueError for one that Java refuses.
    """
    if len(text) > MAX_CHARACTERS:
        problem = f"it has {len(text)} characters: write at most {MAX_CHARACTERS}"
        raise ValueError(problem)
    parts: list[Part] = []
    at = 0
    while at < len(text):
        if text[at] == "\\":
            if at + 1 == len(text):
                problem = r"there is nothing behind the backslash at its end: write \\ for a backslash"
                raise ValueError(problem)
            parts.append(text[at + 1])
            at += 2
        elif text[at] == "$":
            group, at = _group(text, at + 1, names, groups)
            parts.append(group)
        else:
            parts.append(text[at])
            at += 1
    return tuple(parts)


def check_replacement(text: str, names: Mapping[str, int], groups: int) -> None:
    """Check a replacement. Raises ValueError as ``split_replacement`` does."""
    split_replacement(text, names, groups)


def _group(text: str, at: int, names: Mapping[str, int], groups: int) -> tuple[int, int]:
    """Return the number of the group that is named at a place, and where its name ends."""
    named = _NAME.match(text, at)
    if named is not None:
        if named[1] not in names:
            problem = f"the expression has no group named {named[1][:40]!r}"
            raise ValueError(problem)
        return names[named[1]], named.end()
    if text[at : at + 1] not in tuple(_DIGITS):
        problem = r"behind $ has to be the number of a group or its name in {…}: write \$ for the character"
        raise ValueError(problem)
    group = int(text[at])
    if group > groups:
        problem = f"the expression has no group {group}, it has {groups}"
        raise ValueError(problem)
    at += 1
    while at < len(text) and text[at] in _DIGITS and group * 10 + int(text[at]) <= groups:
        group, at = group * 10 + int(text[at]), at + 1
    return group, at


def replaced(parts: Sequence[Part], found: Sequence[str | None]) -> str:
    """Write a replacement with what the groups matched; a group that matched nothing is left out."""
    return "".join(part if isinstance(part, str) else found[part] or "" for part in parts)
