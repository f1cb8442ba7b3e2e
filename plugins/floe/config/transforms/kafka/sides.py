"""What the settings of Kafka's classes with ``$Value`` and ``$Key`` have in common."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from floe.config.expressions.date_pattern import check_date_pattern
from floe.config.keys.option_reader import OptionReader
from floe.config.properties import Properties
from floe.config.transforms.options import SIDES, By, Side, TopicKept, TransformClass, TransformOptions

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
