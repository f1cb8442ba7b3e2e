"""The settings of Kafka's ``ReplaceField``: fields of a value or a key are left out, or get another name."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.option_reader import OptionReader
from floe.config.transforms.kafka.sides import FILLS, Sided, sided_classes
from floe.config.transforms.options import Side, names_of, of_job

_EXCLUDE, _INCLUDE, _RENAMES = "exclude", "include", "renames"
_SHOWN_CHARACTERS: Final = 100


@dataclass(frozen=True)
class ReplaceField(Sided):
    """``include``: empty for all. ``renames``: old and new names."""

    engine: ClassVar = of_job("kafka.replace_field:ReplaceFieldChange", changes="side", reads="columns")

    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    renames: tuple[tuple[str, str], ...] = ()

    def writes(self, name: str) -> bool:
        is_left = name not in self.exclude and (not self.include or name in self.include)
        return not is_left or any(name in pair for pair in self.renames)


def _read(options: OptionReader, side: Side) -> ReplaceField:
    pairs = [name.split(":") for name in names_of(options, _RENAMES)]
    wrong = [":".join(pair) for pair in pairs if len(pair) != 2 or not all(pair)]
    if wrong:
        options.refuse_value(
            _RENAMES, f"{wrong[0][:_SHOWN_CHARACTERS]!r} is no pair: write old:new, with commas between"
        )
        pairs = []
    for what, place in (("old", 0), ("new", 1)):
        twice = [name for name, count in Counter(pair[place] for pair in pairs).items() if count > 1]
        if twice:
            options.refuse_value(_RENAMES, f"has the {what} name {twice[0][:_SHOWN_CHARACTERS]!r} twice: write it once")
    return ReplaceField(
        side,
        options.boolean(FILLS, False),
        names_of(options, _EXCLUDE),
        names_of(options, _INCLUDE),
        tuple((old, new) for old, new in pairs),
    )


CLASSES: Final = sided_classes("ReplaceField", (_EXCLUDE, _INCLUDE, _RENAMES, FILLS), _read)
