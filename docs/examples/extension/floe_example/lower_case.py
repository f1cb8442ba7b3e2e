"""The declaration of a transform that changes each value by itself: texts of some fields become lower case."""

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.engine import Engine
from floe.config.keys.reader import OptionReader
from floe.config.properties import Properties
from floe.config.transforms.options import By, TopicKept, TransformClass, TransformEngine, names_of

_FIELDS: Final = "fields"


@dataclass(frozen=True)
class LowerCase(TopicKept):
    """``fields``: the names of top-level fields."""

    engine: ClassVar = TransformEngine(Engine("floe_example.lower_case_code:LowerCaseChange"), changes="values")

    fields: tuple[str, ...] = ()

    def changes_routing(self, by: By, name: str) -> bool:
        """Records that are routed by one of the fields may go to another table."""
        return by == "field" and name in self.fields


def _read(problems: list[str], prefix: str, keys: Properties) -> LowerCase | None:
    """Read the keys; what is wrong with them is noted in ``problems``."""
    options = OptionReader(keys, prefix)
    names = names_of(options, _FIELDS)
    if not names or not all(names):
        options.refuse(_FIELDS, "has no name, or an empty one: set the names of fields, with commas between")
    problems += options.problems
    return None if options.problems else LowerCase(tuple(dict.fromkeys(names)))


LOWER_CASE: Final = TransformClass("example.LowerCase$Value", (_FIELDS,), _read)
