"""The settings of Kafka's ``ReplaceField``: fields of a value or a key are left out, or get another name."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from floe.config.keys.option_reader import OptionReader
from floe.config.properties import Properties
from floe.config.transforms.options import SIDES, By, Side, TransformClass, TransformOptions, names_of

_EXCLUDE, _INCLUDE, _RENAMES = "exclude", "include", "renames"
_FILL: Final = "replace.null.with.default"
_SHOWN_CHARACTERS: Final = 100


@dataclass(frozen=True)
class ReplaceField(TransformOptions):
    """``include``: empty for all. ``renames``: old and new names. ``fills_defaults``: nulls become their fields' defaults."""

    side: Side = "value"
    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    renames: tuple[tuple[str, str], ...] = ()
    fills_defaults: bool = True

    @property
    def reads_keys(self) -> bool:
        return self.side == "key"

    @property
    def renames_topic(self) -> bool:
        return False

    def changes_routing(self, by: By, name: str) -> bool:
        if by != ("field" if self.side == "value" else "key"):
            return False
        is_left = name not in self.exclude and (not self.include or name in self.include)
        return not name or not is_left or any(name in pair for pair in self.renames)


def _reader(side: Side) -> Callable[[list[str], str, Properties], ReplaceField | None]:
    def read(problems: list[str], prefix: str, keys: Properties) -> ReplaceField | None:
        options = OptionReader(keys, prefix)
        exclude = names_of(options, _EXCLUDE)
        include = names_of(options, _INCLUDE)
        pairs = [name.split(":") for name in names_of(options, _RENAMES)]
        wrong = [":".join(pair) for pair in pairs if len(pair) != 2 or not all(pair)]
        if wrong:
            options.refuse_value(
                _RENAMES, f"{wrong[0][:_SHOWN_CHARACTERS]!r} is no pair: write old:new, with commas between"
            )
        else:
            for what, place in (("old", 0), ("new", 1)):
                twice = [name for name, count in Counter(pair[place] for pair in pairs).items() if count > 1]
                if twice:
                    options.refuse_value(
                        _RENAMES, f"has the {what} name {twice[0][:_SHOWN_CHARACTERS]!r} twice: write it once"
                    )
        fills_defaults = options.boolean(_FILL, True)
        problems += options.problems
        if options.problems:
            return None
        return ReplaceField(side, exclude, include, tuple((old, new) for old, new in pairs), fills_defaults)

    return read


CLASSES: Final = tuple(
    TransformClass(
        f"org.apache.kafka.connect.transforms.ReplaceField${name}", (_EXCLUDE, _INCLUDE, _RENAMES, _FILL), _reader(side)
    )
    for name, side in SIDES
)
