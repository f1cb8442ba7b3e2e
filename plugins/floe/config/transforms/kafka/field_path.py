"""Paths of fields, as ``field.syntax.version`` has them: V1, one name; V2, names with dots between, some in backticks.

In V2 a backtick begins a name at the start of the path or behind a dot, and ends it before a dot or at the path's end.
Inside, dots count as characters, and a backtick before a dot is written with a backslash. Anywhere else a backtick is a
character.
"""

from typing import Final

from floe.config.keys.option_reader import OptionReader
from floe.config.transforms.kafka.sides import choice_of

SYNTAX: Final = "field.syntax.version"
_TICK: Final = "`"


def path_of(options: OptionReader, key: str, text: str) -> tuple[str, ...]:
    """Return the names of a path in the version that the settings name, and note problems."""
    if choice_of(options, SYNTAX, ("V1", "V2", "v1", "v2"), "V1").upper() != "V2":
        return (text,)
    try:
        return split_path(text)
    except ValueError as error:
        options.refuse_value(key, str(error))
        return ()


def split_path(text: str) -> tuple[str, ...]:
    """Return the names of a path of version 2. Raises ValueError."""
    names: list[str] = []
    start = 0
    while True:
        if text[start : start + 1] == _TICK:
            name, end = _quoted(text, start + 1)
        else:
            dot = text.find(".", start)
            end = len(text) if dot < 0 else dot
            name = text[start:end]
        names.append(name)
        if end >= len(text):
            return tuple(names)
        start = end + 1
        if start == len(text):
            return (*names, "")


def _quoted(text: str, start: int) -> tuple[str, int]:
    """Return the name in backticks that begins at a place, and where it ends. Raises ValueError."""
    name: list[str] = []
    at = start
    while True:
        tick = text.find(_TICK, at)
        if tick < 0:
            problem = "has a name whose backtick does not end: write a backtick behind it"
            raise ValueError(problem)
        is_end = tick + 1 == len(text) or text[tick + 1] == "."
        if is_end and tick > start and text[tick - 1] == "\\":
            name += [text[at : tick - 1], _TICK]
        elif is_end:
            return "".join((*name, text[at:tick])), tick + 1
        else:
            name.append(text[at : tick + 1])
        at = tick + 1
