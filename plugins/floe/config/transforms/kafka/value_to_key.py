"""The settings of Kafka's ``ValueToKey``: a key of fields of the value."""

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.option_reader import OptionReader
from floe.config.transforms.kafka.sides import FILLS, list_of, whole_class
from floe.config.transforms.options import By, TopicKept, of_job

_FIELDS: Final = "fields"


@dataclass(frozen=True)
class ValueToKey(TopicKept):
    """``fields``: of the value. ``fills_defaults``: nulls become the defaults of their fields."""

    engine: ClassVar = of_job("kafka.value_to_key:KeyOfValue", reads="columns")

    fields: tuple[str, ...] = ()
    fills_defaults: bool = False

    def changes_routing(self, by: By, name: str) -> bool:
        return by == "key"


def _read(options: OptionReader) -> ValueToKey | None:
    fields = list_of(options, _FIELDS, "the fields of the value")
    return ValueToKey(fields, options.boolean(FILLS, False))


CLASSES: Final = (whole_class("ValueToKey", (_FIELDS, FILLS), _read),)
