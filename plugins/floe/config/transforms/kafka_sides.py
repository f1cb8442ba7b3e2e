"""What Kafka's transforms share: a class for the key and one for the value, and paths of fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from floe.config.expressions.date_pattern import check_date_pattern
from floe.config.keys.reader import OptionReader
from floe.config.properties import Properties
from floe.config.transforms.options import SIDES, By, Side, TopicKept, TransformClass, TransformOptions

# What the settings of Kafka's classes with ``$Value`` and ``$Key`` have in common.


PACKAGE: Final = "org.apache.kafka.connect.transforms."
FILLS: Final = "replace.null.with.default"
_BLANKS: Final = "".join(map(chr, range(33)))
MAX_NAMES: Final = 1000
"""Names in one list: each is looked up in every record."""
_Options = TypeVar("_Options", bound=TransformOptions)
Read = Callable[[OptionReader, Side], TransformOptions | None]


@dataclass(frozen=True)
class Sided(TopicKept):
    """``side``: what of a record is changed. ``fills_defaults``: nulls become the defaults of their fields."""

    side: Side = "value"
    fills_defaults: bool = False

    @property
    def reads_keys(self) -> bool:
        return self.side == "key"

    def writes(self, name: str) -> bool:
        """Whether it may change what is at the top under a name."""
        return True

    def changes_routing(self, by: By, name: str) -> bool:
        return by == ("field" if self.side == "value" else "key") and (not name or self.writes(name))


def sided_classes(name: str, keys: tuple[str, ...], read: Read) -> tuple[TransformClass, ...]:
    """Return the two classes of a name."""

    def reader(side: Side) -> Callable[[list[str], str, Properties], TransformOptions | None]:
        return lambda problems, prefix, given: _read(problems, OptionReader(given, prefix), side, read)

    return tuple(TransformClass(f"{PACKAGE}{name}${end}", keys, reader(side)) for end, side in SIDES)


def whole_class(
    name: str, keys: tuple[str, ...], read: Callable[[OptionReader], TransformOptions | None]
) -> TransformClass:
    """Return a class that has no sides."""
    return TransformClass(
        f"{PACKAGE}{name}",
        keys,
        lambda problems, prefix, given: _read(
            problems, OptionReader(given, prefix), "value", lambda options, _: read(options)
        ),
    )


def _read(problems: list[str], options: OptionReader, side: Side, read: Read) -> TransformOptions | None:
    found = read(options, side)
    problems += options.problems
    return None if options.problems else found


# -- values of keys ---------------------------------------------------------------------------------------------------


def text_of(options: OptionReader, key: str) -> str | None:
    """Return a value without blanks around it, as Connect reads it; None where the key is not there."""
    text = options.options.get(key)
    return None if text is None else text.strip(_BLANKS)


def name_of(options: OptionReader, key: str, what: str) -> str:
    """Return a name that has to be there."""
    text = text_of(options, key)
    if text is None:
        options.problems.append(f"{options.prefix}{key} is missing: set {what}")
        return ""
    if not text.strip():
        options.refuse_value(key, f"is empty: set {what}")
    return text


def date_pattern_of(options: OptionReader, key: str, default: str = "") -> str:
    """Return a pattern of dates, as Java's SimpleDateFormat takes it."""
    pattern = text_of(options, key)
    if pattern is None:
        return default
    try:
        check_date_pattern(pattern)
    except ValueError as error:
        options.refuse_value(key, f"is no pattern of dates: {error}")
    return pattern


def list_of(options: OptionReader, key: str, what: str) -> tuple[str, ...]:
    """Return a list of names that has to be there, as Connect splits it."""
    text = text_of(options, key)
    if text is None or not text.strip():
        options.problems.append(f"{options.prefix}{key} is missing: set {what}, with commas between")
        return ()
    names = tuple(part.strip() for part in text.strip().split(","))
    if len(names) > MAX_NAMES:
        options.refuse_value(key, f"has {len(names)} names: write at most {MAX_NAMES}")
    return names


def choice_of(options: OptionReader, key: str, choices: tuple[str, ...], default: str | None = None) -> str:
    """Return one of some words, written as they are."""
    text = text_of(options, key)
    if text is None and default is not None:
        return default
    if text is None:
        options.problems.append(f"{options.prefix}{key} is missing: set one of {', '.join(choices)}")
        return ""
    if text not in choices:
        options.refuse_value(key, f"set one of {', '.join(choices)}")
    return text


# Paths of fields, as ``field.syntax.version`` has them: V1, one name; V2, names with dots between, some in backticks.
#
# In V2 a backtick begins a name at the start of the path or behind a dot, and ends it before a dot or at the path's
# end. Inside, dots count as characters, and a backtick before a dot is written with a backslash. Anywhere else a
# backtick is a character.


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
