"""The settings of Kafka's ``HoistField``: the value becomes the only field of a new one."""

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.option_reader import OptionReader
from floe.config.transforms.kafka.sides import Sided, name_of, sided_classes
from floe.config.transforms.options import By, Side, of_job

_FIELD: Final = "field"


@dataclass(frozen=True)
class HoistField(Sided):
    """``field``: its name."""

    engine: ClassVar = of_job("kafka.hoist_field:HoistFieldChange", changes="side", reads="columns")

    field: str = ""

    @property
    def makes_fields(self) -> bool:
        return self.side == "value"

    def changes_routing(self, by: By, name: str) -> bool:
        """It does where it makes a value of a tombstone."""
        return self.side == "value" or super().changes_routing(by, name)


def _read(options: OptionReader, side: Side) -> HoistField | None:
    return HoistField(side, field=name_of(options, _FIELD, "the field"))


CLASSES: Final = sided_classes("HoistField", (_FIELD,), _read)
