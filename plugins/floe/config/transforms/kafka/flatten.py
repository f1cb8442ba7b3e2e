"""The settings of Kafka's ``Flatten``: fields of structs in structs go to the top, with longer names."""

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.option_reader import OptionReader
from floe.config.transforms.kafka.sides import Sided, sided_classes, text_of
from floe.config.transforms.options import Side, of_job

_DELIMITER: Final = "delimiter"
_MAX_DELIMITER: Final = 20


@dataclass(frozen=True)
class Flatten(Sided):
    """``delimiter``: what is between the names."""

    engine: ClassVar = of_job("kafka.flatten:FlattenChange", changes="side", reads="columns")

    delimiter: str = "."


def _read(options: OptionReader, side: Side) -> Flatten | None:
    delimiter = text_of(options, _DELIMITER)
    if delimiter is not None and len(delimiter) > _MAX_DELIMITER:
        options.refuse_value(_DELIMITER, f"has {len(delimiter)} characters: write at most {_MAX_DELIMITER}")
    return Flatten(side, delimiter="." if delimiter is None else delimiter)


CLASSES: Final = sided_classes("Flatten", (_DELIMITER,), _read)
