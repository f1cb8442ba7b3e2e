"""The settings of the sink's ``CopyValue``: the value of a field is in another one too."""

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.option_reader import OptionReader
from floe.config.properties import Properties
from floe.config.transforms.options import By, TopicKept, TransformClass, of_job

_SOURCE, _TARGET = "source.field", "target.field"


@dataclass(frozen=True)
class CopyValue(TopicKept):
    """``source``: the field whose value is copied. ``target``: the field that gets it."""

    engine: ClassVar = of_job("iceberg.copy_value:CopyValueChange", changes="values", reads="columns")

    source: str
    target: str

    def changes_routing(self, by: By, name: str) -> bool:
        return by == "field" and name == self.target


def read_copy_value(problems: list[str], prefix: str, keys: Properties) -> CopyValue | None:
    """Read the settings; problems are noted in ``problems``."""
    options = OptionReader(keys, prefix)
    for key, what in ((_SOURCE, "that is copied"), (_TARGET, "that gets the copy")):
        if options.key(key) is None:
            options.miss(f"{prefix}{key} is missing: set the field {what}")
    problems += options.problems
    return None if options.problems else CopyValue(options.text(_SOURCE), options.text(_TARGET))


CLASS: Final = TransformClass("org.apache.iceberg.connect.transforms.CopyValue", (_SOURCE, _TARGET), read_copy_value)
