"""The settings of Kafka's ``ExtractField``: one field takes the place of the value."""

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.option_reader import OptionReader
from floe.config.transforms.kafka.field_path import SYNTAX, path_of
from floe.config.transforms.kafka.sides import FILLS, Sided, name_of, sided_classes
from floe.config.transforms.options import By, Side, of_job

_FIELD: Final = "field"


@dataclass(frozen=True)
class ExtractField(Sided):
    """``path``: the names that lead to the field."""

    engine: ClassVar = of_job("kafka.extract_field:ExtractFieldChange", changes="side", reads="columns")

    path: tuple[str, ...] = ()

    def changes_routing(self, by: By, name: str) -> bool:
        """It does where it may leave nothing of a value."""
        return self.side == "value" or super().changes_routing(by, name)


def _read(options: OptionReader, side: Side) -> ExtractField | None:
    name = name_of(options, _FIELD, "the field")
    path = path_of(options, _FIELD, name)
    return ExtractField(side, options.boolean(FILLS, False), path)


CLASSES: Final = sided_classes("ExtractField", (_FIELD, SYNTAX, FILLS), _read)
