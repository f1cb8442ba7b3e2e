"""The settings of Kafka's ``MaskField``: fields get an empty value of their type, or a given one."""

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.option_reader import OptionReader
from floe.config.transforms.kafka.sides import FILLS, Sided, list_of, sided_classes, text_of
from floe.config.transforms.options import Side, of_job

_FIELDS, _REPLACEMENT = "fields", "replacement"


@dataclass(frozen=True)
class MaskField(Sided):
    """``replacement``: what numbers and texts get; None for 0, "" and the like."""

    engine: ClassVar = of_job("kafka.mask_field:MaskFieldChange", changes="side", reads="columns")

    fields: tuple[str, ...] = ()
    replacement: str | None = None

    def writes(self, name: str) -> bool:
        return name in self.fields


def _read(options: OptionReader, side: Side) -> MaskField | None:
    fields = list_of(options, _FIELDS, "the names of the fields")
    replacement = text_of(options, _REPLACEMENT)
    if replacement == "":
        options.refuse_value(_REPLACEMENT, "is empty: write a number or a text, or remove the key for 0 and ''")
    return MaskField(side, options.boolean(FILLS, False), fields, replacement)


CLASSES: Final = sided_classes("MaskField", (_FIELDS, _REPLACEMENT, FILLS), _read)
